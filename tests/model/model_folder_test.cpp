// Model folders: round trip, shards with an index, tied heads, and every fault of names by name.
#include "model/tensors/model_folder.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "model/small_models.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <limits>

namespace rollcall::model::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using rollcall::testing::TemporaryFolder;

const ModelConfig kConfig = small_config(Family::qwen2);
const std::vector<float> kWeights = random_weights(kConfig, 1);

std::string fault_of(const std::filesystem::path& folder) {
  try {
    read_model_folder(folder);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

/// The tensors of the model, to be changed and written.
std::vector<TensorView> tensors_of(const ModelConfig& config, std::span<const float> weights) {
  std::vector<TensorView> tensors;
  for (const Slice& slice : weight_layout(config).slices) {
    tensors.push_back(
        {slice.name, Dtype::f32, slice.shape,
         std::as_bytes(weights.subspan(std::size_t(slice.offset), std::size_t(slice.count)))});
  }
  return tensors;
}

/// A folder with two shards: the first three tensors, the rest.
Json write_shards(const TemporaryFolder& folder) {
  const auto tensors = tensors_of(kConfig, kWeights);
  folder.write("config.json", to_config_json(kConfig));
  folder.write("a.safetensors", to_safetensors(std::span(tensors).first(3), {}));
  folder.write("b.safetensors", to_safetensors(std::span(tensors).subspan(3), {}));
  Json index = {{"metadata", {{"total_size", 1}}}, {"weight_map", Json::object()}};
  for (std::size_t i = 0; i < tensors.size(); ++i)
    index["weight_map"][tensors[i].name] = i < 3 ? "a.safetensors" : "b.safetensors";
  return index;
}

TEST(ModelFolder, RoundTripAndWrongShapes) {
  const TemporaryFolder folder;
  write_model_folder(folder.path(), kConfig, kWeights, {Dtype::f32, {{"run", "r"}, {"step", "3"}}});
  EXPECT_EQ(read_model_folder(folder.path()).weights, kWeights);
  const auto file = SafetensorsFile::map(folder / "model.safetensors");
  EXPECT_EQ(file.metadata(),
            (std::map<std::string, std::string>{{"format", "pt"}, {"run", "r"}, {"step", "3"}}));
  EXPECT_EQ(read_file(folder / "model.safetensors"),
            to_model_safetensors(weight_layout(kConfig), kWeights, {{"run", "r"}, {"step", "3"}}));
  ModelConfig other = kConfig;
  other.vocab_size = 24;
  EXPECT_THROW(read_weights(other, WeightFiles(file)), InputError);
  EXPECT_THROW(read_weights(small_config(Family::qwen3), WeightFiles(file)), InputError);
  EXPECT_THROW(read_model_folder(folder / "nowhere"), InputError);
}

TEST(ModelFolder, Bf16RoundsToNearestEven) {
  const TemporaryFolder folder;
  std::vector<float> weights = kWeights;
  const std::vector<std::uint32_t> bits = {0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF,
                                           0xBF818000, 0x7F7FFFFF, 0x7FC00001};
  const std::vector<std::uint32_t> rounded = {0x3F800000, 0x3F820000, 0x3F810000, 0x3F800000,
                                              0xBF820000, 0x7F800000, 0x7FC00000};
  for (std::size_t i = 0; i < bits.size(); ++i) weights[i] = std::bit_cast<float>(bits[i]);
  write_model_folder(folder.path(), kConfig, weights, {Dtype::bf16, {}});
  const auto read = read_model_folder(folder.path()).weights;
  for (std::size_t i = 0; i < bits.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(read.span()[i]), rounded[i]) << i;
  EXPECT_EQ(Json::parse(read_file(folder / "config.json")).at("torch_dtype"), "bfloat16");
}

TEST(ModelFolder, AWeightThatIsNotFiniteIsNamed) {
  const TemporaryFolder folder;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> weights = kWeights;
    const auto slices = weight_layout(kConfig).slices;
    weights[std::size_t(slices.back().offset)] = bad;
    write_model_folder(folder.path(), kConfig, weights);
    EXPECT_NO_THROW(read_model_folder(folder.path()));
    EXPECT_THROW(read_policy(folder.path()), InputError);
    try {
      read_finite_model(folder.path());
      ADD_FAILURE() << bad << " was read";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("tensor " + slices.back().name + " of "),
                                      HasSubstr("model.safetensors"), HasSubstr("not finite")));
    }
  }
  write_model_folder(folder.path(), kConfig, kWeights);
  EXPECT_EQ(read_finite_model(folder.path()).weights, kWeights);
}

TEST(ModelFolder, ShardsAreReadThroughTheirIndex) {
  const TemporaryFolder folder;
  const Json index = write_shards(folder);
  EXPECT_THAT(fault_of(folder.path()),
              AllOf(HasSubstr("neither model.safetensors nor model.safetensors.index.json")));
  folder.write("model.safetensors.index.json", index.dump());
  EXPECT_EQ(read_model_folder(folder.path()).weights, kWeights);
}

TEST(ModelFolder, FaultsOfAnIndexAreNamed) {
  const TemporaryFolder folder;
  const Json index = write_shards(folder);
  const auto fault = [&](const auto& change) {
    Json changed = index;
    change(changed["weight_map"]);
    folder.write("model.safetensors.index.json", changed.dump());
    return fault_of(folder.path());
  };
  const std::string first = "model.embed_tokens.weight";
  EXPECT_THAT(fault([&](Json& map) { map[first] = "c.safetensors"; }),
              AllOf(HasSubstr("c.safetensors, which does not exist"), HasSubstr(first)));
  EXPECT_THAT(
      fault([&](Json& map) { map[first] = "b.safetensors"; }),
      AllOf(HasSubstr("a.safetensors holds tensor " + first), HasSubstr("is in b.safetensors")));
  EXPECT_THAT(fault([&](Json& map) { map["extra"] = "b.safetensors"; }),
              HasSubstr("b.safetensors holds tensor extra, which it does not"));
  EXPECT_THAT(fault([&](Json& map) { map.erase(first); }),
              HasSubstr("a.safetensors holds tensor " + first + ", which"));
  for (const char* name :
       {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", ".safetensors", "a.bin", ""}) {
    EXPECT_THAT(fault([&](Json& map) { map[first] = name; }),
                HasSubstr("not a safetensors file beside it"))
        << name;
  }
  EXPECT_THAT(fault([&](Json& map) { map[first] = 3; }), HasSubstr("has no file name"));
  EXPECT_THAT(fault([&](Json& map) { map = 3; }), HasSubstr("no table \"weight_map\""));
  folder.write("model.safetensors.index.json",
               R"({"weight_map":{"x":"a.safetensors","x":"b.safetensors"}})");
  EXPECT_THAT(fault_of(folder.path()), HasSubstr("\"x\" stands twice"));
}

TEST(ModelFolder, MissingAndUnknownTensorsAreListed) {
  const TemporaryFolder folder;
  folder.write("config.json", to_config_json(kConfig));
  auto tensors = tensors_of(kConfig, kWeights);
  const auto fault = [&](const std::vector<TensorView>& written) {
    folder.write("model.safetensors", to_safetensors(written, {}));
    return fault_of(folder.path());
  };
  EXPECT_THAT(fault({}),
              AllOf(HasSubstr("model.embed_tokens.weight, model.layers.0.input_layernorm.weight"),
                    HasSubstr("and 17 more")));
  EXPECT_THAT(
      fault({tensors.begin(), tensors.end() - 1}),
      AllOf(HasSubstr("has no tensor lm_head.weight"), HasSubstr("\"tie_word_embeddings\": true")));
  const std::vector<float> some(2);
  const auto with = [&](const char* name) {
    auto more = tensors;
    more.push_back({name, Dtype::f32, {2}, std::as_bytes(std::span(some))});
    return more;
  };
  EXPECT_EQ(fault(with("model.layers.0.self_attn.rotary_emb.inv_freq")), "accepted");
  EXPECT_THAT(fault(with("model.layers.0.self_attn.q_norm.weight")),
              HasSubstr("has tensor model.layers.0.self_attn.q_norm.weight, which"));
  EXPECT_THAT(fault(with("model.layers.0.self_attn.o_proj.bias")), HasSubstr("o_proj.bias, which"));
}

TEST(ModelFolder, AStoredHeadOfATiedModelMustBeTheEmbedding) {
  const TemporaryFolder folder;
  const ModelConfig tied = small_config(Family::llama);
  const std::vector<float> weights = random_weights(tied, 2);
  folder.write("config.json", to_config_json(tied));
  auto tensors = tensors_of(tied, weights);
  std::vector<float> head(weights.begin(), weights.begin() + tied.vocab_size * tied.hidden_size);
  tensors.push_back(
      {"lm_head.weight", Dtype::f32, tensors[0].shape, std::as_bytes(std::span(head))});
  folder.write("model.safetensors", to_safetensors(tensors, {}));
  EXPECT_EQ(read_model_folder(folder.path()).weights, weights);
  head.back() += 1.0F;
  folder.write("model.safetensors", to_safetensors(tensors, {}));
  EXPECT_THAT(fault_of(folder.path()), HasSubstr("lm_head.weight of"));
}

/// What is packed from the files as they stand, by several threads, computes as the widened weights
/// do.
TEST(ModelFolder, APolicyForForwardPassesAloneIsTheSame) {
  for (const Family family : kFamilies)
    for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
      for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
        const ModelConfig config = small_config(family);
        const kernels::KernelSet* set = kernel_sets(numerics).back();
        const TemporaryFolder folder;
        write_model_folder(folder.path(), config, random_weights(config, 5), {dtype, {}});
        const PolicyModel packed = read_policy(folder.path(), set, {.count = 3});
        const PolicyModel widened(config, read_model_folder(folder.path()).weights, {}, set);
        const MicroBatch micro_batch = random_micro_batch(config, {30, 7}, 1);
        const Columns a = forward(packed, micro_batch, 1.0), b = forward(widened, micro_batch, 1.0);
        EXPECT_EQ(a.logprob, b.logprob) << name_of(family) << ' ' << numerics;
        EXPECT_EQ(a.entropy, b.entropy) << name_of(family) << ' ' << numerics;
      }
}

TEST(ModelFolder, AFileThatIsCutShortWhileMappedIsAnError) {
  const TemporaryFolder folder;
  write_model_folder(folder.path(), kConfig, kWeights);
  const auto file = SafetensorsFile::map(folder / "model.safetensors");
  std::filesystem::resize_file(folder / "model.safetensors", 4096);
  EXPECT_THROW(file.floats("lm_head.weight"), UnreadableError);
}

TEST(ModelFolder, GenerationConfigAddsEndTokens) {
  const TemporaryFolder folder;
  write_model_folder(folder.path(), kConfig, kWeights);
  folder.write("generation_config.json", R"({"eos_token_id": [1, 4]})");
  EXPECT_EQ(read_model_folder(folder.path()).config.eos_token_ids,
            (std::vector<std::int64_t>{1, 4}));
}

}  // namespace
}  // namespace rollcall::model::testing
