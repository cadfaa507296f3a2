// Private to the model: finds the weight above which a row has a wanted number of tokens or a
// wanted mass.
#pragma once

#include "kernels/kernel_set.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::model {

/// The weights of a row of logits. Token i has weight e[i] * factor[i / kVocabularyBlock].
struct Weights {
  const float* e;       ///< [tokens]
  const float* factor;  ///< [vocabulary_blocks(tokens)]
  std::int64_t tokens;
};

/// How much of a row is wanted, taking the most probable tokens first.
struct WantedAmount {
  enum class Unit { tokens, mass };
  Unit unit;
  double wanted, all;  ///< `all`: the amount of the whole row

  bool counts_tokens() const { return unit == Unit::tokens; }
};

/// Two thresholds, given as the bits of floats, which sort like the floats themselves. The tokens
/// of weight `low` or more reach the wanted amount. Those of weight `high` or more do not; they
/// amount to `at_high`.
struct Bracket {
  std::uint32_t low, high;
  double at_high;
};

/// Evaluates several thresholds in one pass over the weights. It starts from a guess or from even
/// steps, then interpolates linearly between two known thresholds. Not thread-safe, because it
/// holds scratch memory.
class ThresholdSearch {
 public:
  /// `largest_may_exceed_one`: whether a weight, as the product of two exponentials, may be rounded
  /// to more than 1. Otherwise no weight exceeds 1.
  ThresholdSearch(const kernels::KernelSet& kernels, std::int64_t tokens,
                  bool largest_may_exceed_one);

  /// Narrows the bracket until at most `few` tokens lie between its ends. A guess of 0 means that
  /// there is no guess.
  Bracket among(const Weights& weights, const WantedAmount& amount, std::int64_t few,
                float guess = 0.0F);
  /// The same for weights without factors, of which there are at most `tokens` (of the
  /// constructor).
  Bracket among(std::span<const float> weights, const WantedAmount& amount, std::int64_t few) {
    return among(Weights{weights.data(), ones_.data(), std::int64_t(weights.size())}, amount, few);
  }

 private:
  const kernels::KernelSet* kernels_;
  kernels::ExecutionContext context_;
  bool largest_may_exceed_one_;
  std::vector<float> ones_;  ///< [vocabulary_blocks(tokens)] the factor 1
};

}  // namespace rollcall::model
