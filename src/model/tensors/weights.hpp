// Named weight slices in one flat buffer: the model borrows them, collectives move them,
// safetensors stores them.
#pragma once

#include "model/config/model_config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// One tensor: Hugging Face name, shape, and where it lies in the flat buffer [offset, offset +
/// count).
struct Slice {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, count = 0;
  bool decay = false;  ///< weight decay applies (matrices other than embeddings and head)
};

/// Pure function of the config; order and offsets are the same on every rank. Offsets are multiples
/// of 16 floats.
struct WeightLayout {
  std::vector<Slice> slices;
  std::int64_t size = 0;  ///< floats in the buffer, padding included
};
WeightLayout weight_layout(const ModelConfig& config);

/// Normal(0, initializer_range) matrices, ones for norms, zeros for biases; addressed by (seed,
/// tensor index, element).
std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed);

/// SHA-256 over names, shapes and little-endian fp32 bytes in layout order: the "policy sha256" of
/// logs and results.
std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights);

}  // namespace rollcall::model
