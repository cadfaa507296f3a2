// Private to the model: samples one token from one row of logits.
#pragma once

#include "core/plan.hpp"
#include "kernels/kernel_set.hpp"
#include "model/decode/top_tokens.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::model {

/// A row of logits with what kernels::KernelSet::token_columns computed from it.
struct RowOfLogits {
  const float* logits;               ///< [vocab]
  const kernels::BlockMass* blocks;  ///< [vocabulary_blocks(vocab)], at the inverse temperature of
                                     ///< the parameters
  const float* e;  ///< [vocab] exp(z - largest of its block); only if needs_exponentials()
};

/// Throws ConfigError if no token can be drawn with these settings.
void check_sampling(const SamplingParams& params);

/// Samples by inverse CDF from the ids that the tokenizer has. A draw chooses a block of the
/// vocabulary by its mass, then a token inside it. Greedy sampling takes the most probable token,
/// and among equals the one with the lowest id. Not thread-safe, because it holds scratch memory.
class TokenSampler {
 public:
  TokenSampler(const SamplingParams& params, std::int64_t vocab_size,
               const kernels::KernelSet& kernels);

  bool needs_exponentials() const { return top_.has_value(); }
  void read(const RowOfLogits& row);  ///< the row is borrowed until the next call
  std::int32_t draw(double u);        ///< `u` is in [0, 1); may be called any number of times per
                                      ///< row
  // These are available only if needs_exponentials(), that is, if draws leave tokens out.
  double kept_mass() const;  ///< probability of the tokens that are kept, in the softmax over all
  std::vector<std::int32_t> kept_ids() { return top_->ids(); }  ///< ascending

 private:
  std::int32_t greedy() const;
  std::int32_t from_all(double u);
  void choose_top(double cut_factor);
  float largest() const;

  const kernels::KernelSet* kernels_;
  bool greedy_;
  std::size_t all_blocks_;  ///< blocks of the vocabulary; row_.blocks has the row's entry there
  std::int64_t drawn_;      ///< ids below this one may be drawn: those of the tokenizer
  bool cut_;                ///< whether the last of blocks_ also has ids from drawn_ on
  float scale_;             ///< inverse temperature
  std::optional<TopTokens> top_;  ///< only if draws leave tokens out
  RowOfLogits row_{};
  kernels::ExecutionContext context_;
  /// [blocks below drawn_] largest logit and sum over the ids below drawn_, before top-k and top-p.
  std::vector<kernels::BlockMass> blocks_;
  std::vector<float> e_;      ///< exp(z - largest) of a block
  std::vector<double> mass_;  ///< the mass of each of blocks_, relative to the largest logit of all
};

}  // namespace rollcall::model
