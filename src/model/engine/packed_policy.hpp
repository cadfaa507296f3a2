// Private to the model: weights of one policy as the engines read them.
#pragma once

#include "model/engine/policy.hpp"
#include "model/support/aligned_floats.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::model {

/// W [outputs, inputs] in both forms: packed panels for the forward kernels, row-major for the
/// backward products (none where there are no weights to train).
struct Linear {
  std::int64_t outputs = 0, inputs = 0;
  std::int64_t weight_slice = -1, bias_slice = -1;  ///< positions in the layout; -1: no bias
  const float* weight = nullptr;
  const void* panels = nullptr;
  int slices = 1;  ///< in which bf16_sliced8 sums the inputs: 8 where they are cut among devices
  const float* bias = nullptr;
};

struct Norm {
  std::int64_t width = 0;
  std::int64_t slice = -1;
  const float* weight = nullptr;
};

struct Layer {
  Norm input_norm, post_attention_norm, q_norm, k_norm;  ///< q_norm, k_norm: over each head, only
                                                         ///< with config.qk_norm
  Linear q, k, v, o, gate, up, down;
};

/// [V, hidden]: rows of the weights, or of a copy in the type of the files they came from.
struct Embedding {
  const float* weights = nullptr;
  AlignedArray<std::uint16_t> halves;  ///< bf16; where it is empty there are weights
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

/// A stretch of the layout that is packed by itself: rows of a matrix, or weights that are read
/// where they are.
struct PackedPart {
  const Linear* linear = nullptr;  ///< none: nothing to pack
  std::int64_t first = 0, rows = 0;
  std::byte* panels = nullptr;
};

struct OnDevice;  ///< weights as a device reads them (device/device_policy.hpp)

struct PolicyModel::Packed {
  ModelConfig config;
  PolicyVersion version;
  const kernels::KernelSet* kernels = nullptr;
  WeightLayout layout;
  std::shared_ptr<const AlignedFloats> weights;  ///< layout order; none in a policy that was read
                                                 ///< for forward passes alone
  AlignedArray<std::byte> panels;                ///< every linear packed, one after the other
  std::shared_ptr<const RotaryTable> rotary;
  std::vector<Layer> layers;
  Norm final_norm;
  Linear head;            ///< shares the embedding's slice when the embeddings are tied
  Embedding embedding;    ///< slice 0
  AlignedFloats vectors;  ///< norms and biases where there are no weights
  std::vector<PackedPart> parts;
  std::vector<std::int64_t> cuts;     ///< [parts + 1] of the layout
  std::vector<std::uint8_t> renewed;  ///< [parts] 1: packed for the next version
  std::uint64_t revision = 0;         ///< how often they were packed anew
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

/// Pages of keys and values as a policy's kernels lay them out.
struct PageShape {
  const kernels::KernelSet* kernels;
  kernels::HeadShape heads;
  /// of a key, and of a value, of all heads
  std::int64_t width() const { return heads.kv_heads * heads.head_dim; }
  /// of a page of one layer
  std::int64_t bytes() const { return kernels->page_bytes(heads); }
};
inline PageShape page_shape(const PolicyModel::Packed& policy) {
  return {policy.kernels, head_shape(policy)};
}

/// What the columns are scaled by; greedy sampling (temperature 0) keeps its columns at temperature
/// 1.
inline float inverse_temperature(double temperature) {
  return temperature > 0.0 ? float(1.0 / temperature) : 1.0F;
}

}  // namespace rollcall::model
