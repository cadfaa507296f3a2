// Private to the model: the weights of a policy as the engines read them.
#pragma once

#include "model/block/shape.hpp"
#include "model/engine/policy.hpp"
#include "model/support/aligned_floats.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::model {

/// The embedding [V, hidden]. Its rows are in the weights, or in a copy with the type of the files
/// that it came from.
struct Embedding {
  TensorId tensor = kNoTensor;
  const float* weights = nullptr;
  AlignedArray<std::uint16_t> halves;  ///< bf16; empty if `weights` is set
  AlignedFloats floats;
  std::int64_t width = 0;

  void row(std::int32_t token, float* into) const {
    if (halves.size() == 0) {
      std::copy_n(weights + token * width, width, into);
      return;
    }
    const std::uint16_t* from = halves.data() + token * width;
    for (std::int64_t i = 0; i < width; ++i)
      into[i] = std::bit_cast<float>(std::uint32_t(from[i]) << 16);
  }
};

/// A part of the layout that is packed separately: some rows of a matrix, or weights that the
/// kernels read unpacked.
struct PackedPart {
  const Linear* linear = nullptr;  ///< null if there is nothing to pack
  std::int64_t first = 0, rows = 0;
  std::byte* panels = nullptr;
};

struct OnDevice;  ///< the weights as a device reads them (device/device_policy.hpp)

struct PolicyModel::Packed {
  ModelConfig config;
  PolicyVersion version;
  const kernels::KernelSet* kernels = nullptr;
  WeightLayout layout;
  /// In layout order. Null in a policy that was read for forward passes only.
  std::shared_ptr<const AlignedFloats> weights;
  AlignedArray<std::byte> panels;  ///< all packed matrices, one after another
  std::vector<std::shared_ptr<const RotaryTable>> rotary;  ///< by ModelShape::ropes
  std::vector<Layer> layers;
  Norm final_norm;
  Linear head;  ///< has the embedding's tensor when the embeddings are tied
  Embedding embedding;
  BackwardParts backward_parts;
  AlignedFloats vectors;  ///< norms and biases, if `weights` is null
  std::vector<PackedPart> parts;
  std::vector<std::int64_t> cuts;     ///< [parts + 1] offsets in the layout
  std::vector<std::uint8_t> renewed;  ///< [parts] 1 if a part is packed for the next version
  std::uint64_t revision = 0;         ///< how often renew() has packed
  mutable std::shared_ptr<OnDevice> on_device;
};

/// What every RMSNorm of the policy adds to the mean square.
inline float norm_eps(const PolicyModel::Packed& policy) {
  return float(policy.config.rms_norm_eps);
}
inline kernels::HeadShape head_shape(const PolicyModel::Packed& policy) {
  return {policy.config.num_attention_heads, policy.config.num_key_value_heads,
          policy.config.head_dim};
}

/// The layout of pages of keys and values in the kernels of a policy.
struct PageShape {
  const kernels::KernelSet* kernels;
  kernels::HeadShape heads;
  /// Numbers in a key, or in a value, of all heads together.
  std::int64_t width() const { return heads.kv_heads * heads.head_dim; }
  /// Bytes of a page of one layer.
  std::int64_t bytes() const { return kernels->page_bytes(heads); }
};
inline PageShape page_shape(const PolicyModel::Packed& policy) {
  return {policy.kernels, head_shape(policy)};
}

/// The factor on logits. Greedy sampling (temperature 0) has the columns of temperature 1.
inline float inverse_temperature(double temperature) {
  return temperature > 0.0 ? float(1.0 / temperature) : 1.0F;
}

}  // namespace rollcall::model
