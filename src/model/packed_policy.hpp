// Private to the model: weights of one policy as the engines read them.
#pragma once

#include "model/aligned_floats.hpp"
#include "model/policy.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::model {

/// W [outputs, inputs] in both forms: packed panels for the forward kernels, row-major for the backward products.
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
  Norm input_norm, post_attention_norm, q_norm, k_norm;  ///< q_norm, k_norm: over each head, only with config.qk_norm
  Linear q, k, v, o, gate, up, down;
};

struct Policy::Packed {
  ModelConfig config;
  PolicyVersion version;
  const kernels::KernelSet* kernels = nullptr;
  WeightLayout layout;
  std::shared_ptr<const AlignedFloats> weights;  ///< layout order
  AlignedArray<std::byte> panels;                ///< every linear packed, one after the other
  std::shared_ptr<const RotaryTable> rotary;
  std::vector<Layer> layers;
  Norm final_norm;
  Linear head;                       ///< shares the embedding's slice when the embeddings are tied
  const float* embedding = nullptr;  ///< [V, hidden], slice 0

  std::int64_t q_width() const { return config.num_attention_heads * config.head_dim; }
  std::int64_t kv_width() const { return config.num_key_value_heads * config.head_dim; }
  float eps() const { return float(config.rms_norm_eps); }
  kernels::HeadShape heads() const { return {config.num_attention_heads, config.num_key_value_heads, config.head_dim}; }
};

/// Pages of keys and values as a policy's kernels lay them out.
struct PageShape {
  const kernels::KernelSet* kernels;
  kernels::HeadShape heads;
  std::int64_t width() const { return heads.kv_heads * heads.head_dim; }  ///< of a key, and of a value, of all heads
  std::int64_t bytes() const { return kernels->page_bytes(heads); }       ///< of a page of one layer
};
inline PageShape page_shape(const Policy::Packed& policy) { return {policy.kernels, policy.heads()}; }

/// What the columns are scaled by; greedy sampling (temperature 0) keeps its columns at temperature 1.
inline float inverse_temperature(double temperature) { return temperature > 0.0 ? float(1.0 / temperature) : 1.0F; }

}  // namespace rollcall::model
