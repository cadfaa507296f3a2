// Private to the model: one token from one row of logits.
#pragma once

#include "core/plan.hpp"
#include "kernels/kernel_set.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rollcall::model {

/// What token_columns tells of a row that a token is drawn from.
struct RowOfLogits {
  const float* logits;               ///< [vocab]
  const kernels::BlockMass* blocks;  ///< [vocabulary_blocks(vocab)], at the inverse temperature of
                                     ///< the parameters
  const float* e;                    ///< [vocab]; only where needs_exponentials()
};

/// Throws ConfigError where nothing can be drawn with these settings.
void check_sampling(const SamplingParams& params);

/// Draws by inverse CDF, from ids that the tokenizer has. A draw picks the block of the vocabulary
/// by its mass, then the token inside. Top-k and top-p keep the tokens above a threshold, which is
/// searched for by count and mass; of equals, the lower ids. Not shared between threads (holds
/// scratch).
class TokenSampler {
 public:
  TokenSampler(const SamplingParams& params, std::int64_t vocab_size,
               const kernels::KernelSet& kernels);

  bool needs_exponentials() const { return !greedy_ && (top_k_ < drawn_ || top_p_ < 1.0); }
  void read(const RowOfLogits& row);  ///< borrowed until the next
  std::int32_t draw(double u);        ///< `u` in [0, 1); any number of draws from a row
  // Of a row whose draws leave tokens out, which needs_exponentials():
  double kept_mass() const;              ///< probability of the others, in the softmax over all
  std::vector<std::int32_t> kept_ids();  ///< ascending

 private:
  /// The most probable tokens down to some place: all of weight `from` or more, and the first
  /// `last` of ranked_.
  struct Kept {
    float from;
    std::size_t last;
    double mass;
  };
  std::int32_t greedy() const;
  std::int32_t full(double u);
  void truncate();
  std::int32_t truncated(double u) const;
  enum class Measure { count, mass };
  /// A row of weights e * factor, one factor a block.
  struct Weights {
    const float* e;
    const float* factor;
    std::int64_t tokens;
  };
  /// Thresholds as the bits of floats, which are in order: of `low` or more at least `wanted`, of
  /// `high` or more less, which is `at_high`.
  struct Bracket {
    std::uint32_t low, high;
    double at_high;
  };
  Bracket close_in(const Weights& weights, Measure measure, double wanted, double all,
                   std::int64_t few, float guess);
  float guess(const float* e, Measure measure, double wanted, double all);
  Kept keep(const float* e, Measure measure, double wanted, double all);
  float largest() const;
  std::int64_t tokens_of(std::size_t block) const;

  const kernels::KernelSet* kernels_;
  bool greedy_;
  std::size_t whole_;        ///< place of the row's own entry behind its blocks
  std::int64_t drawn_;       ///< ids that may be drawn: those below it
  bool cut_;                 ///< the last block holds other ids, too
  std::int64_t top_k_;       ///< all of drawn_ when off
  double top_p_;             ///< 1 when off
  float scale_;              ///< inverse temperature
  double cut_factor_ = 1.0;  ///< from the scale of the whole last block to that of its ids that may
                             ///< be drawn
  // Of the row at hand:
  RowOfLogits row_{};
  Kept kept_{};  ///< where draws are truncated
  kernels::ExecutionContext context_;
  std::vector<kernels::BlockMass> blocks_;  ///< of the ids that may be drawn; one more is scratch
  std::vector<float> e_;                    ///< exp(z - largest) of a block
  std::vector<float> factor_;               ///< by block: exp(its largest - the row's)
  std::vector<float> block_sum_;            ///< by block, of what stands above a threshold
  std::vector<double> mass_;                ///< by block
  std::vector<std::int32_t> places_;        ///< of tokens between two thresholds
  std::vector<float> some_;  ///< weights of some tokens: of every so many, or of those at places_
  std::vector<float> ones_;  ///< by block: their factors
  std::vector<std::pair<float, std::int32_t>> ranked_;  ///< the tokens at places_: those above a
                                                        ///< second threshold, then the others, most
                                                        ///< probable first
};

}  // namespace rollcall::model
