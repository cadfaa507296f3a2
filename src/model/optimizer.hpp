// AdamW over the flat buffer with clipping by global norm, and the order-free gradient sum that feeds it.
#pragma once

#include "core/collectives.hpp"
#include "core/run_config.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// lr at 1-based `step` of `steps`: linear warm-up, then cosine to lr * min_lr_ratio.
double learning_rate(const OptimizerSection& settings, std::int64_t step, std::int64_t steps);

/// Sum of leaf gradients as 64-bit integers with one exponent per tensor (house.md 2b.2). The sum is the same bits for any order, thread or rank count.
/// Usage: for each leaf add(); then finish(collectives). When finish returns false the exponents have been corrected and the leaves must be added again
/// (first step, or a gradient grew or shrank by much); this depends on the sum alone, so every rank count repeats alike.
class GradientSum {
 public:
  explicit GradientSum(const WeightLayout& layout);
  void start();                                        ///< zero the sum
  void add(std::span<const float> leaf_gradient);      ///< thread-safe
  enum class Outcome { ready, repeat, nonfinite };
  Outcome finish(Collectives& ranks);                  ///< collective over the update ranks
  std::span<const float> gradient() const;             ///< valid after `ready`
  std::vector<std::int64_t> exponents() const;         ///< state for the checkpoint
  void set_exponents(std::span<const std::int64_t> exponents);

 private:
  const WeightLayout* layout_;
  std::vector<std::int64_t> sum_;
  std::vector<float> gradient_;
  std::vector<std::int64_t> exponent_;
  bool overflow_ = false, nonfinite_ = false;
  struct Lock;
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
