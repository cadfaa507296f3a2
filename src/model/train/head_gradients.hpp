// Private to the model: the gradients of the head's logits on the host, some tokens of the
// vocabulary at a time.
#pragma once

#include "model/train/gradient_products.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// The head's part of a backward pass (states_backward). At its end it gives back all memory except
/// states().
class HeadGradients {
 public:
  /// What the head's backward pass needs from its forward pass, and the loss.
  struct Predictions {
    std::span<const std::int64_t> rows;     ///< [M] the rows that predict targets
    std::span<const std::int32_t> targets;  ///< [M]
    std::span<const float> lse, entropy;    ///< [M]
    const float* normed;                    ///< [M, hidden]
    double temperature;
    const ColumnGradient& derivative;
    const float* logits = nullptr;  ///< [M, V], or null to have them recomputed
    // kept and missed cover the whole micro-batch; the targets above begin at its target
    // first_target.
    const KeptTokens* kept = nullptr;
    std::size_t first_target = 0;
    const MissedTokens* missed = nullptr;
  };
  HeadGradients(const PolicyModel::Packed& policy, Backend& backend, GradientProducts& products,
                Arena& scratch, const Predictions& predictions);
  /// Floats of `scratch` for the gradient with respect to this many states.
  static std::int64_t floats(const ModelConfig& config, const kernels::KernelSet& kernels,
                             std::int64_t targets);

  /// The head's outputs [first, first + count).
  Linear outputs(std::int64_t first, std::int64_t count) const;
  /// Computes the gradient with respect to the logits of `some` outputs, which are those from
  /// `first` on. The two below read it.
  void logit_gradients(const Linear& some, std::int64_t first);
  /// The gradient with respect to the weights of `some`, if it is wanted.
  void weights(const Linear& some, std::int64_t first);
  /// Adds the gradient with respect to the head's inputs through `some` to states().
  void add_inputs(const Linear& some);
  Backend::Rows states() const { return states_; }  ///< [M, hidden]

 private:
  bool misses() const {
    return predictions_.missed != nullptr && !predictions_.derivative.miss_logprob.empty();
  }
  /// Adds the terms of the other tokens at each target's position to dlogits [rows, v], which
  /// belong to the ids from `first` on. The target's own derivative already contains their mass.
  void add_missed(float scale, std::int64_t row, std::int64_t first, std::int64_t v,
                  float* dlogits) const;

  const PolicyModel::Packed* policy_;
  Backend* backend_;
  GradientProducts* products_;
  Predictions predictions_;
  std::int64_t m_;
  Backend::Rows states_;
  Arena::Scope scope_;
  float *part_, *z_;                   ///< [M, hidden] and [M, kHeadOutputs]
  std::vector<std::int32_t> targets_;  ///< [M] counted from the first of some outputs
  std::vector<float> with_mass_;       ///< [M] derivatives with the missed mass, or empty
  const void* packed_ = nullptr;       ///< the inputs, if weights are wanted
};

}  // namespace rollcall::model
