// The tensors and modules of a model: names, order and offsets are those of all earlier runs, and
// each module reads the tensor of its name.
#include "model/block/shape.hpp"
#include "base/numbers/hash.hpp"
#include "model/device/device_sizes.hpp"
#include "model/reference_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::model::testing {
namespace {

ModelConfig smollm2_135m() {
  ModelConfig c;
  c.vocab_size = 49152, c.hidden_size = 576, c.intermediate_size = 1536;
  c.num_hidden_layers = 30, c.num_attention_heads = 9, c.num_key_value_heads = 3, c.head_dim = 64;
  c.tie_word_embeddings = true;
  return c;
}

ModelConfig qwen25_7b() {
  ModelConfig c;
  c.architecture = Architecture::qwen2;
  c.vocab_size = 152064, c.hidden_size = 3584, c.intermediate_size = 18944;
  c.num_hidden_layers = 28, c.num_attention_heads = 28, c.num_key_value_heads = 4, c.head_dim = 128;
  c.attention_bias = true;
  return c;
}

std::vector<ReferenceModel> all_models() {
  auto models = reference_models();
  models.push_back({"smollm2_135m", smollm2_135m()});
  models.push_back({"qwen2.5_7b", qwen25_7b()});
  return models;
}

/// The first 16 digits of the SHA-256 of a layout in words, a line for each tensor.
std::string digest_of(const WeightLayout& layout) {
  Sha256 digest;
  for (const Slice& slice : layout.slices) {
    const char* initial = slice.initial == Initial::normal ? "normal"
                          : slice.initial == Initial::ones ? "ones"
                                                           : "zeros";
    digest.add(fmt::format("{} {} {} {} {}\n", slice.name, fmt::join(slice.shape, "x"),
                           slice.offset, slice.decay ? "decays" : "stays", initial));
  }
  return digest.hex().substr(0, 16);
}

/// The numbers come from a second program, which was written from the rules that all checkpoints
/// follow: a block has its first norm, q, k, v and o, the norms of heads, its second norm, gate, up
/// and down, and each bias after its weight; every tensor begins at a multiple of 16 floats.
TEST(Shape, TensorsAreThoseOfEarlierRuns) {
  struct Golden {
    const char* name;
    std::size_t tensors;
    std::int64_t size;
    const char* digest;
  };
  const std::vector<Golden> golden = {{"llama", 20, 9744, "d12c251990ef2870"},
                                      {"llama_biases", 35, 10752, "0558b8c6468a275d"},
                                      {"llama_linear", 20, 9744, "d12c251990ef2870"},
                                      {"llama_llama3", 20, 9744, "d12c251990ef2870"},
                                      {"llama_yarn", 20, 9744, "d12c251990ef2870"},
                                      {"qwen2", 27, 10048, "7e2d62fed0072d2a"},
                                      {"qwen2_yarn", 27, 10048, "7e2d62fed0072d2a"},
                                      {"qwen3", 25, 13440, "5f57f0cbbc5decd1"},
                                      {"qwen3_biases", 32, 13168, "d283bbac290c3170"},
                                      {"qwen3_yarn", 25, 13440, "5f57f0cbbc5decd1"},
                                      {"qwen3_linear", 25, 13440, "5f57f0cbbc5decd1"},
                                      {"smollm3", 29, 14320, "c3fb19bf1de07ffd"},
                                      {"smollm3_biases", 50, 14992, "133a6cb00def1889"},
                                      {"smollm3_llama3", 29, 14320, "c3fb19bf1de07ffd"},
                                      {"smollm2_135m", 272, 134515008, "f8f397f6326277f8"},
                                      {"qwen2.5_7b", 339, 7615616512, "e8861122166b13d4"}};
  const auto models = all_models();
  ASSERT_EQ(models.size(), golden.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const WeightLayout layout = weight_layout(models[i].config);
    EXPECT_EQ(models[i].name, golden[i].name);
    EXPECT_EQ(layout.slices.size(), golden[i].tensors) << golden[i].name;
    EXPECT_EQ(layout.size, golden[i].size) << golden[i].name;
    EXPECT_EQ(digest_of(layout), golden[i].digest) << golden[i].name;
  }
}

TEST(Shape, EveryTensorIsReadByOneModuleInOrder) {
  for (const auto& [name, config] : all_models()) {
    const ModelShape shape = model_shape(config);
    std::vector<TensorId> read = {shape.embedding};
    each_part(shape, [&]<class Part>(const Part& part) {
      if (part.weight != kNoTensor && part.weight != shape.embedding) read.push_back(part.weight);
      if constexpr (is_linear<Part>) {
        if (part.has_bias()) read.push_back(part.bias_id);
      }
    });
    ASSERT_EQ(read.size(), shape.tensors.size()) << name;
    for (std::size_t t = 0; t < read.size(); ++t) {
      EXPECT_EQ(read[t], TensorId{t}) << name << " " << shape.tensors[t].name;
      EXPECT_EQ(shape.tensors[t].id, TensorId{t}) << name;
    }
  }
}

TEST(Shape, ModulesReadTheTensorsOfTheirNames) {
  for (const auto& [name, config] : all_models()) {
    const ModelShape shape = model_shape(config);
    const auto tensor = [&](TensorId id) { return shape.tensors.at(id.value); };
    using Shape = std::vector<std::int64_t>;
    const auto is = [&, model = name](const Linear& linear, const std::string& module, bool bias) {
      EXPECT_EQ(tensor(linear.weight).name, module + ".weight") << model;
      EXPECT_EQ(tensor(linear.weight).shape, (Shape{linear.outputs, linear.inputs})) << module;
      EXPECT_EQ(linear.has_bias(), bias) << model << " " << module;
      if (!bias) return;
      EXPECT_EQ(tensor(linear.bias_id).name, module + ".bias") << model;
      EXPECT_EQ(tensor(linear.bias_id).shape, Shape{linear.outputs}) << module;
    };
    const auto is_norm = [&](const Norm& norm, const std::string& module) {
      EXPECT_EQ(tensor(norm.weight).name, module + ".weight");
      EXPECT_EQ(tensor(norm.weight).shape, Shape{norm.width}) << module;
    };
    ASSERT_EQ(std::int64_t(shape.layers.size()), config.num_hidden_layers);
    for (std::size_t i = 0; i < shape.layers.size(); ++i) {
      const auto& [attention_in, mlp_in, attention, mlp] = shape.layers[i];
      const std::string block = "model.layers." + std::to_string(i) + ".";
      is_norm(attention_in, block + "input_layernorm");
      is(attention.q, block + "self_attn.q_proj", config.attention_bias);
      is(attention.k, block + "self_attn.k_proj", config.attention_bias);
      is(attention.v, block + "self_attn.v_proj", config.attention_bias);
      is(attention.o, block + "self_attn.o_proj", config.output_bias);
      EXPECT_EQ(attention.rope, name.starts_with("smollm3") && i == 1 ? -1 : 0) << name;
      EXPECT_EQ(bool(attention.q_norm), config.qk_norm) << name;
      if (config.qk_norm) {
        is_norm(attention.q_norm, block + "self_attn.q_norm");
        is_norm(attention.k_norm, block + "self_attn.k_norm");
      }
      is_norm(mlp_in, block + "post_attention_layernorm");
      is(mlp.gate, block + "mlp.gate_proj", config.mlp_bias);
      is(mlp.up, block + "mlp.up_proj", config.mlp_bias);
      is(mlp.down, block + "mlp.down_proj", config.mlp_bias);
    }
    ASSERT_EQ(shape.ropes.size(), 1U);
    EXPECT_EQ(shape.ropes[0].positions, config.max_position_embeddings) << name;
    EXPECT_EQ(shape.ropes[0].theta, config.rope_theta) << name;
    is_norm(shape.final_norm, "model.norm");
    is(shape.head, config.tie_word_embeddings ? "model.embed_tokens" : "lm_head", false);
    EXPECT_EQ(tensor(shape.embedding).name, "model.embed_tokens.weight");
  }
}

TEST(BackwardParts, AreTheHeadTheNormTheBlocksAndTheEmbedding) {
  for (const auto& [name, config] : all_models()) {
    const ModelShape shape = model_shape(config);
    const BackwardParts parts = backward_parts(shape);
    const std::size_t blocks = shape.layers.size();
    ASSERT_EQ(parts.tensors.size(), blocks + 3) << name;
    EXPECT_EQ(parts.head, 0U);
    EXPECT_EQ(parts.final_norm, 1U);
    EXPECT_EQ(parts.embedding, blocks + 2);
    const auto has_one = [&](std::size_t part, TensorId tensor) {
      EXPECT_EQ(parts.tensors[part].first, tensor) << part;
      EXPECT_EQ(parts.tensors[part].last, tensor) << part;
    };
    has_one(parts.head, shape.head.weight);
    has_one(parts.final_norm, shape.final_norm.weight);
    has_one(parts.embedding, shape.embedding);
    for (std::size_t i = 0; i < blocks; ++i) {
      EXPECT_EQ(parts.blocks[i], blocks + 1 - i) << name;
      const auto [first, last] = parts.tensors[parts.blocks[i]];
      const std::string block = "model.layers." + std::to_string(i) + ".";
      for (const TensorSpec& tensor : shape.tensors)
        EXPECT_EQ(tensor.name.starts_with(block), first <= tensor.id && tensor.id <= last)
            << name << " " << tensor.name;
    }
  }
}

/// Plans held a block with the padding at its end, as the mean of all blocks.
TEST(BackwardParts, TheLargestIsWhatPlansOfEarlierRunsHeld) {
  for (const auto& [name, config] : all_models()) {
    const WeightLayout layout = weight_layout(config);
    const std::int64_t blocks_begin = layout.slices[1].offset,
                       blocks_end = offset_of(layout, model_shape(config).final_norm.weight);
    const std::int64_t held =
        std::max(layout.slices[0].count, (blocks_end - blocks_begin) / config.num_hidden_layers);
    const std::int64_t part = device_optimizer_sizes(config, layout.size, 2).part;
    EXPECT_LE(part, held) << name;
    EXPECT_GT(part, held - 16) << name;
    EXPECT_EQ(device_optimizer_sizes(config, layout.size, 1).part, 0) << name;
  }
}

}  // namespace
}  // namespace rollcall::model::testing
