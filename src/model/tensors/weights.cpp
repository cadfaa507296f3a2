// Layout of the flat weight buffer, initial weights and their digest.
#include "model/tensors/weights.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/numbers/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace rollcall::model {
namespace {

class LayoutBuilder {
 public:
  explicit LayoutBuilder(WeightLayout& layout) : layout_(&layout) {}

  void matrix(const std::string& name, std::int64_t rows, std::int64_t columns, bool decay = true) {
    add(name, {rows, columns}, decay, Initial::normal);
  }
  void norm(const std::string& module, std::int64_t width) {
    add(module + ".weight", {width}, false, Initial::ones);
  }
  void linear(const std::string& module, std::int64_t outputs, std::int64_t inputs,
              bool bias = false) {
    matrix(module + ".weight", outputs, inputs);
    if (bias) add(module + ".bias", {outputs}, false, Initial::zeros);
  }

 private:
  void add(const std::string& name, std::vector<std::int64_t> shape, bool decay, Initial initial) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    layout_->slices.push_back(
        {{layout_->slices.size()}, name, std::move(shape), layout_->size, count, decay, initial});
    layout_->size += (count + 15) / 16 * 16;  // every slice starts on a cache line
  }
  WeightLayout* layout_;
};

void add_layer(LayoutBuilder& add, const ModelConfig& c, std::int64_t layer) {
  const std::string prefix = fmt::format("model.layers.{}.", layer);
  const std::int64_t q_width = c.num_attention_heads * c.head_dim,
                     kv_width = c.num_key_value_heads * c.head_dim;
  add.norm(prefix + "input_layernorm", c.hidden_size);
  add.linear(prefix + "self_attn.q_proj", q_width, c.hidden_size, c.attention_bias);
  add.linear(prefix + "self_attn.k_proj", kv_width, c.hidden_size, c.attention_bias);
  add.linear(prefix + "self_attn.v_proj", kv_width, c.hidden_size, c.attention_bias);
  add.linear(prefix + "self_attn.o_proj", c.hidden_size, q_width, c.output_bias);
  if (c.qk_norm) {
    add.norm(prefix + "self_attn.q_norm", c.head_dim);
    add.norm(prefix + "self_attn.k_norm", c.head_dim);
  }
  add.norm(prefix + "post_attention_layernorm", c.hidden_size);
  add.linear(prefix + "mlp.gate_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  add.linear(prefix + "mlp.up_proj", c.intermediate_size, c.hidden_size, c.mlp_bias);
  add.linear(prefix + "mlp.down_proj", c.hidden_size, c.intermediate_size, c.mlp_bias);
}

}  // namespace

std::int64_t WeightLayout::slice_of(TensorId tensor) const {
  const std::uint64_t first = slices.empty() ? 0 : slices.front().tensor.value;
  if (tensor.value < first || tensor.value - first >= slices.size()) return -1;
  return std::int64_t(tensor.value - first);
}

WeightLayout weight_layout(const ModelConfig& config) {
  WeightLayout layout;
  LayoutBuilder add(layout);
  add.matrix("model.embed_tokens.weight", config.vocab_size, config.hidden_size, false);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer)
    add_layer(add, config, layer);
  add.norm("model.norm", config.hidden_size);
  if (!config.tie_word_embeddings)
    add.matrix("lm_head.weight", config.vocab_size, config.hidden_size, false);
  return layout;
}

WeightLayout trained_layout(const ModelConfig& config) { return weight_layout(config); }

std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed) {
  const WeightLayout layout = weight_layout(config);
  std::vector<float> weights(std::size_t(layout.size), 0.0F);
  for (const Slice& slice : layout.slices) {
    float* values = weights.data() + slice.offset;
    switch (slice.initial) {
      case Initial::zeros: break;
      case Initial::ones: std::fill_n(values, slice.count, 1.0F); break;
      case Initial::normal: {
        const RandomStream stream(seed, RandomPurpose::init, 0, slice.tensor.value);
        for (std::int64_t i = 0; i < slice.count; ++i)
          values[i] = float(config.initializer_range * stream.normal(std::uint64_t(i)));
      }
    }
  }
  return weights;
}

std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights) {
  expect(std::int64_t(weights.size()) == layout.size, "weights fill their layout");
  Sha256 digest;
  for (const Slice& slice : layout.slices) {
    digest.add(fmt::format("{}[{}]\n", slice.name, fmt::join(slice.shape, ",")));
    // All supported machines are little-endian.
    digest.add(std::as_bytes(weights.subspan(std::size_t(slice.offset), std::size_t(slice.count))));
  }
  return digest.hex();
}

}  // namespace rollcall::model
