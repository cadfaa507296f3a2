// The critic: a linear head on the policy's hidden states, trained by an optimizer of its own.
#pragma once

#include "core/run_config.hpp"
#include "model/train/optimizer.hpp"

#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// V_t = w . h_t + b with h_t the policy's hidden state where token t is predicted: the value of
/// the state before the token. Its loss does not reach the policy's weights. Starts at zero, so
/// that the first advantages are the returns themselves. The bits depend neither on leaves nor on
/// ranks.
class ValueHead {
 public:
  explicit ValueHead(std::int64_t hidden_size);

  /// hidden [M, hidden_size] -> [M].
  std::vector<float> values(std::span<const float> hidden) const;

  // One optimizer step: start, add every micro-batch, finish. As GradientSum: on `repeat` start and
  // add the same micro-batches again.
  void start() { sum_.start(); }
  /// thread-safe; dvalue [M] dLoss / dV
  void add(std::span<const float> hidden, std::span<const float> dvalue);
  GradientSum::Outcome finish(Collectives& ranks) { return sum_.finish(ranks); }
  /// after `ready`; returns the gradient's norm
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
