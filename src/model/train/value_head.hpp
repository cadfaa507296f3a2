// The critic: a linear head on the hidden states of the policy, with its own optimizer.
#pragma once

#include "core/run_config.hpp"
#include "model/train/optimizer.hpp"

#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// V_t = w . h_t + b, the value of the state before token t, where h_t is the hidden state that
/// predicts token t. The gradient of its loss does not reach the policy's weights. It starts at
/// zero, so that the first advantages are the returns themselves. The bits depend neither on
/// micro-batches nor on ranks.
class ValueHead {
 public:
  explicit ValueHead(std::int64_t hidden_size);

  /// The values [M] of hidden [M, hidden_size].
  std::vector<float> values(std::span<const float> hidden) const;

  // A step is start(), add() for every micro-batch, and finish(). On `repeat` it starts again with
  // the same micro-batches, as in GradientSum.
  void start() { sum_.start(); }
  /// Adds the gradient of a micro-batch. dvalue [M] is dLoss / dV. Thread-safe.
  void add(std::span<const float> hidden, std::span<const float> dvalue);
  GradientSum::Outcome finish(Collectives& ranks) { return sum_.finish(ranks); }
  /// AdamW, after `ready`. Returns the norm of the gradient.
  double apply(const OptimizerSection& settings, double lr);

  std::string to_bytes() const;  ///< safetensors: weights, moments, exponents, steps
  void restore(const std::string& bytes, const std::string& origin);  ///< throws StorageError

 private:
  WeightLayout layout_;
  std::vector<float> weights_;  ///< [hidden_size] and the bias, in the layout's places
  OptimizerState optimizer_;
  GradientSum sum_;
};

}  // namespace rollcall::model
