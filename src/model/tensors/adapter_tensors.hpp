// The matrices of a LoRA adapter: which matrices of a model they change, how they are called, and
// how they are merged into the model's weights.
#pragma once

#include "model/config/model_config.hpp"
#include "model/support/aligned_floats.hpp"
#include "model/tensors/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// A matrix W [outputs, inputs] of a model.
struct AdaptedMatrix {
  TensorId weight{};
  std::int64_t outputs = 0, inputs = 0;
  std::string module;  ///< "model.layers.0.self_attn.q_proj"
};

/// Throws InputError if a target of `config.adapter` is no matrix of the model's blocks, or if its
/// rank is larger than any side of the matrices. `origin`: what messages call the adapter's file.
void check_adapter(const ModelConfig& config, const std::string& origin);

/// The matrices that `config.adapter` changes, in the order of the model's tensors.
std::vector<AdaptedMatrix> adapted_matrices(const ModelConfig& config);

/// A [rank, inputs] and B [outputs, rank] of each of adapted_matrices(), with PEFT's names. Their
/// ids follow those of the model's tensors. How their first values are drawn is not said here.
WeightLayout adapter_layout(const ModelConfig& config);

/// The values of an adapter, ready to be merged.
class AdapterValues {
 public:
  /// `values`: in the order of adapter_layout(config).
  AdapterValues(const ModelConfig& config, AlignedFloats values);

  bool changes(TensorId tensor) const;  ///< whether a tensor of the model is another one with it
  /// Adds s B A to elements [first, first + weights.size()) of a tensor of the model, or nothing if
  /// the adapter does not change it. Every element is summed in fp32 from the first rank to the
  /// last: w = fma(s b, a, w), where s b is rounded and terms with s b = 0 are left out, so that
  /// B = 0 changes no bit, not even of -0. The result does not depend on how a tensor is cut.
  void merge(TensorId tensor, std::int64_t first, std::span<float> weights) const;

 private:
  struct Factors {
    TensorId weight{};
    std::int64_t inputs = 0;
    const float *a = nullptr, *b = nullptr;
  };
  const Factors* factors_of(TensorId tensor) const;

  AlignedFloats values_;
  std::vector<Factors> factors_;  ///< ascending by weight
  std::int64_t rank_;
  float scale_;
};

}  // namespace rollcall::model
