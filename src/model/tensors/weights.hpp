// The weights of a model as named slices of one flat buffer. The model reads them there, and
// collectives and safetensors move the same bytes.
#pragma once

#include "model/config/model_config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// One tensor: its Hugging Face name, its shape, and its elements [offset, offset + count) of the
/// flat buffer.
struct Slice {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, count = 0;
  bool decay = false;  ///< whether weight decay applies: to matrices except embeddings and head
};

/// The slices of a model. They are a pure function of the config, so order and offsets are the
/// same on every rank. Offsets are multiples of 16 floats.
struct WeightLayout {
  std::vector<Slice> slices;
  std::int64_t size = 0;  ///< floats in the buffer, padding included
};
WeightLayout weight_layout(const ModelConfig& config);

/// Initial weights: Normal(0, initializer_range) for matrices, ones for norms and zeros for biases.
/// Random numbers are addressed by (seed, tensor index, element).
std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed);

/// SHA-256 over names, shapes and little-endian fp32 bytes in layout order. Logs and results call
/// it "policy sha256".
std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights);

}  // namespace rollcall::model
