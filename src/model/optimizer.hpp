// AdamW over the flat buffer with clipping by global norm, and the order-free gradient sum that feeds it.
#pragma once

#include "core/collectives.hpp"
#include "core/run_config.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// lr at 1-based `step` of `steps`: linear warm-up, then cosine to lr * min_lr_ratio.
double learning_rate(const OptimizerSection& settings, std::int64_t step, std::int64_t steps);

/// Sum of leaf gradients as 64-bit integers with one exponent per tensor (house rule: order-free, so the bits are the same for any thread or rank count).
/// Usage: start(); add() each leaf; finish(). On `repeat` the exponents have been corrected: start and add the same leaves again (first step, or a gradient
/// grew or shrank by much). Decisions come from the largest leaf element of each tensor over all ranks, so every rank count repeats alike, and a repeat
/// with the same leaves is always followed by `ready`.
class GradientSum {
 public:
  explicit GradientSum(const WeightLayout& layout);
  void start();                                    ///< zero the sum
  void add(std::span<const float> leaf_gradient);  ///< thread-safe
  enum class Outcome { ready, repeat, nonfinite };
  Outcome finish(Collectives& ranks);           ///< collective over the update ranks
  std::span<const float> gradient() const;      ///< valid after `ready`
  std::vector<std::int64_t> exponents() const;  ///< state for the checkpoint: what the next sum starts from
  void set_exponents(std::span<const std::int64_t> exponents);

 private:
  bool reduce_columns(Collectives& ranks);
  bool fit_exponents(std::int64_t low, std::int64_t high, std::int64_t centre);

  WeightLayout layout_;
  std::vector<std::int64_t> sum_;  ///< layout order, value * 2^exponent
  std::vector<float> gradient_;
  std::vector<std::int64_t> exponent_;  ///< [tensors]
  std::vector<double> largest_;         ///< [tensors] largest |element| of any leaf; infinity when one is not finite
  std::int64_t leaves_ = 0;
  std::unique_ptr<std::mutex> mutex_;  ///< behind a pointer so that sums can be moved
};

/// First and second moments and the number of steps taken.
struct OptimizerState {
  std::vector<float> m, v;
  std::int64_t step = 0;
};

struct UpdateResult {
  double grad_norm = 0.0;  ///< before clipping
  double lr = 0.0;
};

/// Clips, updates weights in place, advances the state. Bitwise the same on every rank that holds the same inputs.
UpdateResult apply_adamw(const WeightLayout& layout, const OptimizerSection& settings, double lr, std::span<const float> gradient, std::span<float> weights,
                         OptimizerState& state);

}  // namespace rollcall::model
