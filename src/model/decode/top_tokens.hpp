// Private to the model: the tokens of a row of logits that top-k and top-p keep.
#pragma once

#include "core/plan.hpp"
#include "model/decode/threshold_search.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// The `top_k` most probable tokens of a row, and among those the nucleus of mass `top_p` (Holtzman
/// et al. 2020). Among tokens of equal weight, lower ids come first. Not thread-safe, because it
/// holds scratch memory.
class TopTokens {
 public:
  /// Whether draws with these settings leave any of the first `tokens` ids out.
  static bool needed(const SamplingParams& params, std::int64_t tokens);
  /// For the first `tokens` ids of the vocabulary. `cut`: whether they end inside a block, whose
  /// weights are then rescaled and may exceed 1 by rounding.
  TopTokens(const SamplingParams& params, std::int64_t tokens, bool cut,
            const kernels::KernelSet& kernels);

  /// [vocabulary_blocks(tokens)], filled by the caller before read(): the factor of each block.
  std::span<float> factors() { return factor_; }
  /// Chooses the tokens of a row. `e` [tokens] is borrowed until the next call. `all` is the mass of
  /// the row at its factors.
  void read(const float* e, double all);

  double mass() const { return kept_.mass; }  ///< sum of the chosen tokens' weights
  std::int32_t draw(double u) const;          ///< a chosen token, by its weight; `u` in [0, 1)
  std::vector<std::int32_t> ids();            ///< all chosen tokens, ascending

 private:
  /// The chosen tokens: all of weight `from` or more, and the first `last` of ranked_.
  struct Kept {
    float from;
    std::size_t last;
    double mass;
  };
  float guess(const WantedAmount& amount);
  Kept keep(const WantedAmount& amount);

  const kernels::KernelSet* kernels_;
  kernels::ExecutionContext context_;
  ThresholdSearch search_;
  std::int64_t top_k_;         ///< top-k, or the number of tokens if it is off
  double top_p_;               ///< top-p, or 1 if it is off
  std::vector<float> factor_;  ///< the factor of each block
  Weights weights_;            ///< weights of the row's tokens, with factor_
  Kept kept_{};
  std::vector<float> block_sum_;      ///< by block: the sum of the weights of at least kept_.from
  std::vector<std::int32_t> places_;  ///< ids of the tokens between the two ends of a bracket
  std::vector<float> some_;           ///< weights of some tokens: a sample of the row, or those at
                                      ///< places_
  /// The tokens at places_ from the second bracket on: those above it, then those inside it by
  /// descending weight.
  std::vector<std::pair<float, std::int32_t>> ranked_;
};

}  // namespace rollcall::model
