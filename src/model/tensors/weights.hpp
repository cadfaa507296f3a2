// The weights of a model as named slices of one flat buffer. The model reads them there, and
// collectives and safetensors move the same bytes.
#pragma once

#include "model/config/model_config.hpp"
#include "model/tensors/spec.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// One tensor: its id, its Hugging Face name, its shape, and its elements [offset, offset + count)
/// of the flat buffer.
struct Slice {
  TensorId tensor{};
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, count = 0;
  bool decay = false;  ///< whether weight decay applies: to matrices except embeddings and head
  Initial initial = Initial::normal;
};

/// Elements [begin, end) of a flat buffer.
struct LayoutRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  LayoutRange within(const LayoutRange& other) const {
    return {std::clamp(begin, other.begin, other.end), std::clamp(end, other.begin, other.end)};
  }
};

/// The slices of a model, with consecutive ids. They are a pure function of the config, so order
/// and offsets are the same on every rank. Offsets are multiples of 16 floats.
struct WeightLayout {
  std::vector<Slice> slices;
  std::int64_t size = 0;  ///< floats in the buffer, padding included

  /// The index of a tensor's slice, or -1 if this layout does not have the tensor. Takes the same
  /// time for any number of tensors.
  std::int64_t slice_of(TensorId tensor) const;
  /// The elements of tensors that this layout has, with the padding between them.
  LayoutRange range_of(const TensorRange& tensors) const;
};
/// All tensors of a model, as files hold them.
WeightLayout weight_layout(const ModelConfig& config);
/// The tensors that train: those whose gradients are summed, which AdamW moves, and which ranks
/// send to each other. They are all tensors of the model.
WeightLayout trained_layout(const ModelConfig& config);

/// Initial weights, each tensor as its slice says: random matrices, ones for norms and zeros for
/// biases. Random numbers are addressed by (seed, tensor id, element).
std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed);

/// SHA-256 over names, shapes and little-endian fp32 bytes in layout order. Logs and results call
/// it "policy sha256".
std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights);

}  // namespace rollcall::model
