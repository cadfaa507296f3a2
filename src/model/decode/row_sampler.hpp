// Private to the model: samples tokens, with their columns, from one row of logits at a time.
#pragma once

#include "model/decode/left_out.hpp"
#include "model/decode/sampling.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::model {

struct SampledToken {
  std::int32_t token;
  float logprob, entropy;
  float kept_mass = 0.0F;            ///< 0 where sampling leaves out no tokens, and on a device
  std::vector<std::int32_t> kept{};  ///< ids that log-prob and entropy are over; empty: all ids
};

/// A sampler with the memory for one row. Each thread has one.
class RowSampler {
 public:
  RowSampler(const SamplingParams& sampling, std::int64_t vocab, const kernels::KernelSet& kernels)
      : kernels_(&kernels),
        sampler_(sampling, vocab, kernels),
        truncates_(truncates(sampling)),
        masses_(std::size_t(kernels::vocabulary_blocks(vocab)) + 1),
        exponentials_(sampler_.needs_exponentials() ? std::size_t(vocab) : 0),
        renormalised_(sampler_.needs_exponentials() && renormalises(sampling) ? std::size_t(vocab)
                                                                              : 0),
        vocab_(vocab) {}

  /// Computes the columns of a row [vocab], which is borrowed until the next call. That leaves the
  /// row in the cache for draw().
  void read(kernels::ExecutionContext& context, const float* logits, float inverse_temperature) {
    logits_ = logits, scale_ = inverse_temperature;
    take_columns(context, logits, exponentials_.empty() ? nullptr : exponentials_.data());
    sampler_.read({logits_, masses_.data(), exponentials_.data()});
    if (truncates_) kept_mass_ = sampler_.needs_exponentials() ? float(sampler_.kept_mass()) : 1.0F;
    if (renormalised_.empty()) return;
    kept_ = sampler_.kept_ids();
    std::copy_n(logits, vocab_, renormalised_.data());
    leave_out_others(kept_, 0, vocab_, renormalised_.data());
    take_columns(context, renormalised_.data(), nullptr);  // as a training forward does: same bits
  }
  /// Samples a token of the row. `u` in [0, 1). A row may be sampled from any number of times.
  SampledToken draw(double u) {
    const std::int32_t token = sampler_.draw(u);
    const kernels::BlockMass& whole = masses_.back();
    return {token, logits_[token] * scale_ - whole.largest - whole.sum, entropy_, kept_mass_,
            kept_};
  }

 private:
  void take_columns(kernels::ExecutionContext& context, const float* logits, float* exponentials) {
    constexpr std::int32_t kNone = -1;
    float unused = 0.0F, lse = 0.0F;
    kernels_->token_columns(context, logits, 1, vocab_, scale_, &kNone, &unused, &entropy_, &lse,
                            masses_.data(), exponentials);
  }

  const kernels::KernelSet* kernels_;
  TokenSampler sampler_;
  bool truncates_;
  std::vector<kernels::BlockMass> masses_;
  std::vector<float> exponentials_;  ///< [vocab] where the sampler needs them, otherwise empty
  /// [vocab] the row without the tokens that are left out, where log-probs are over the others.
  std::vector<float> renormalised_;
  std::int64_t vocab_;
  const float* logits_ = nullptr;
  float scale_ = 1.0F, entropy_ = 0.0F, kept_mass_ = 0.0F;
  std::vector<std::int32_t> kept_;
};

}  // namespace rollcall::model
