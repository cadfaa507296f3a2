// Packs a policy's weights for the kernels.
#include "model/packed_policy.hpp"

#include "base/error.hpp"

#include <mutex>
#include <string_view>

namespace rollcall::model {
namespace {

/// The table of the last configuration is kept: a run builds a policy each step, always of one shape.
std::shared_ptr<const RotaryTable> shared_rotary_table(const ModelConfig& config) {
  static std::mutex mutex;
  static std::shared_ptr<const RotaryTable> last;
  const Rope rope{config.rope_theta, config.head_dim, config.max_position_embeddings, config.rope_scaling};
  const std::lock_guard lock(mutex);
  if (last == nullptr || last->rope != rope) last = std::make_shared<RotaryTable>(rotary_table(rope));
  return last;
}

/// Bytes of a packed matrix, such that the next one begins aligned as well.
std::int64_t aligned_bytes(const kernels::KernelSet& kernels, std::int64_t outputs, std::int64_t inputs) {
  return (kernels.packed_bytes(outputs, inputs) + 63) / 64 * 64;
}

/// Walks the layout in its own order and points the parts of the model at their slices.
class Packer {
 public:
  explicit Packer(Policy::Packed& packed) : packed_(&packed) {}

  void run() {
    const ModelConfig& c = packed_->config;
    const std::int64_t embedding = next("model.embed_tokens.weight");
    packed_->embedding = at(embedding);
    for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer) packed_->layers.push_back(read_layer());
    packed_->final_norm = norm("model.norm.weight");
    packed_->head = c.tie_word_embeddings ? linear_at(embedding) : linear("lm_head", false);
    pack_linears();
  }

 private:
  std::int64_t next(std::string_view suffix) {
    expect(packed_->layout.slices.at(std::size_t(position_)).name.ends_with(suffix), "the layout's order is the packer's");
    return position_++;
  }
  const float* at(std::int64_t slice) const { return packed_->weights->data() + packed_->layout.slices[std::size_t(slice)].offset; }
  Norm norm(std::string_view suffix) {
    const std::int64_t slice = next(suffix);
    return {packed_->layout.slices[std::size_t(slice)].count, slice, at(slice)};
  }
  Linear linear_at(std::int64_t slice) const {
    const auto& shape = packed_->layout.slices[std::size_t(slice)].shape;
    return {.outputs = shape.at(0), .inputs = shape.at(1), .weight_slice = slice, .weight = at(slice)};
  }
  Linear linear(std::string_view module, bool bias) {
    Linear made = linear_at(next(std::string(module) + ".weight"));
    if (!bias) return made;
    made.bias_slice = next(std::string(module) + ".bias");
    made.bias = at(made.bias_slice);
    return made;
  }
  Layer read_layer() {
    const ModelConfig& c = packed_->config;
    Layer layer;
    layer.input_norm = norm("input_layernorm.weight");
    layer.q = linear("q_proj", c.attention_bias);
    layer.k = linear("k_proj", c.attention_bias);
    layer.v = linear("v_proj", c.attention_bias);
    layer.o = linear("o_proj", c.output_bias);
    layer.o.slices = 8;
    if (c.qk_norm) {
      layer.q_norm = norm("q_norm.weight");
      layer.k_norm = norm("k_norm.weight");
    }
    layer.post_attention_norm = norm("post_attention_layernorm.weight");
    layer.gate = linear("gate_proj", c.mlp_bias);
    layer.up = linear("up_proj", c.mlp_bias);
    layer.down = linear("down_proj", c.mlp_bias);
    layer.down.slices = 8;
    return layer;
  }
  void pack_linears() {
    std::vector<Linear*> linears;
    for (Layer& layer : packed_->layers) {
      for (Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) linears.push_back(linear);
    }
    linears.push_back(&packed_->head);
    const auto bytes = [this](const Linear& l) { return aligned_bytes(*packed_->kernels, l.outputs, l.inputs); };
    std::int64_t size = 0;
    for (const Linear* linear : linears) size += bytes(*linear);
    packed_->panels = AlignedArray<std::byte>(std::size_t(size));
    std::byte* panel = packed_->panels.data();
    for (Linear* linear : linears) {
      packed_->kernels->pack(linear->weight, linear->outputs, linear->inputs, panel);
      linear->panels = panel;
      panel += bytes(*linear);
    }
  }

  Policy::Packed* packed_;
  std::int64_t position_ = 0;
};

}  // namespace

Policy::Policy(const ModelConfig& config, std::span<const float> weights, PolicyVersion version, const kernels::KernelSet* kernels)
    : Policy(config, std::make_shared<const AlignedFloats>(weights), version, kernels) {}

Policy::Policy(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights, PolicyVersion version, const kernels::KernelSet* kernels)
    : packed_(std::make_unique<Packed>()) {
  packed_->config = config;
  packed_->version = version;
  packed_->kernels = kernels != nullptr ? kernels : &kernels::selected_kernels();
  packed_->layout = weight_layout(config);
  expect(std::int64_t(weights->size()) == packed_->layout.size, "weights fill their layout");
  packed_->weights = std::move(weights);
  packed_->rotary = shared_rotary_table(config);
  Packer(*packed_).run();
}

std::int64_t packed_bytes(const ModelConfig& config, const kernels::KernelSet& kernels) {
  const WeightLayout layout = weight_layout(config);
  std::int64_t bytes = 0;
  for (std::size_t i = config.tie_word_embeddings ? 0 : 1; i < layout.slices.size(); ++i) {  // an embedding that is no head is only looked up
    const auto& shape = layout.slices[i].shape;
    if (shape.size() == 2) bytes += aligned_bytes(kernels, shape[0], shape[1]);
  }
  return bytes;
}

Policy::~Policy() = default;
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
const ModelConfig& Policy::config() const { return packed_->config; }
PolicyVersion Policy::version() const { return packed_->version; }

}  // namespace rollcall::model
