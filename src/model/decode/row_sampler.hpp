// Private to the model: samples tokens, with their columns, from one row of logits at a time.
#pragma once

#include "model/decode/left_out.hpp"
#include "model/decode/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace rollcall::model {

struct SampledToken {
  std::int32_t token;
  float logprob, entropy;
  float kept_mass = 0.0F;            ///< 0 if sampling leaves out no tokens, and on a device
  std::vector<std::int32_t> kept{};  ///< ids in the softmax of log-prob and entropy; empty: all
  /// Probabilities of the two likeliest tokens; negative unless SamplingParams::two_likeliest.
  float likeliest = -1.0F, runner_up = -1.0F;
};

/// A sampler with memory for one row. Each thread has one.
class RowSampler {
 public:
  RowSampler(const SamplingParams& sampling, std::int64_t vocab, const kernels::KernelSet& kernels)
      : kernels_(&kernels),
        sampler_(sampling, vocab, kernels),
        truncates_(truncates(sampling)),
        two_likeliest_(sampling.two_likeliest),
        drawn_(sampling.vocab_size > 0 ? std::min(sampling.vocab_size, vocab) : vocab),
        masses_(std::size_t(kernels::vocabulary_blocks(vocab)) + 1),
        exponentials_(sampler_.needs_exponentials() ? std::size_t(vocab) : 0),
        renormalised_(sampler_.needs_exponentials() && renormalises(sampling) ? std::size_t(vocab)
                                                                              : 0),
        vocab_(vocab) {}

  /// Computes the columns of a row [vocab], which is borrowed until the next call. The row is then
  /// in the CPU's cache for draw().
  void read(kernels::ExecutionContext& context, const float* logits, float inverse_temperature) {
    logits_ = logits, scale_ = inverse_temperature;
    take_columns(context, logits, exponentials_.empty() ? nullptr : exponentials_.data());
    sampler_.read({logits_, masses_.data(), exponentials_.data()});
    if (two_likeliest_) find_likeliest();
    if (truncates_)
      row_.kept_mass = sampler_.needs_exponentials() ? float(sampler_.kept_mass()) : 1.0F;
    if (renormalised_.empty()) return;
    row_.kept = sampler_.kept_ids();
    std::copy_n(logits, vocab_, renormalised_.data());
    leave_out_others(row_.kept, 0, vocab_, renormalised_.data());
    take_columns(context, renormalised_.data(), nullptr);  // the same bits as in a training forward
  }
  /// Samples a token from the row. `u` is in [0, 1). A row may be sampled from any number of times.
  SampledToken draw(double u) {
    const std::int32_t token = sampler_.draw(u);
    const kernels::BlockMass& whole = masses_.back();
    SampledToken sampled = row_;
    sampled.token = token;
    sampled.logprob = logits_[token] * scale_ - whole.largest - whole.sum;
    return sampled;
  }

 private:
  void find_likeliest() {
    float first = -std::numeric_limits<float>::infinity(), second = first;
    for (std::int64_t id = 0; id < drawn_; ++id) {
      const float logit = logits_[id];
      if (logit > first) second = first, first = logit;
      else second = std::max(second, logit);
    }
    const kernels::BlockMass& whole = masses_.back();
    row_.likeliest = std::exp(first * scale_ - whole.largest - whole.sum);
    row_.runner_up = std::exp(second * scale_ - whole.largest - whole.sum);
  }

  void take_columns(kernels::ExecutionContext& context, const float* logits, float* exponentials) {
    constexpr std::int32_t kNone = -1;
    float unused = 0.0F, lse = 0.0F;
    kernels_->token_columns(context, logits, 1, vocab_, scale_, &kNone, &unused, &row_.entropy,
                            &lse, masses_.data(), exponentials);
  }

  const kernels::KernelSet* kernels_;
  TokenSampler sampler_;
  bool truncates_, two_likeliest_;
  std::int64_t drawn_;  ///< ids below this one may be drawn
  std::vector<kernels::BlockMass> masses_;
  std::vector<float> exponentials_;  ///< [vocab] if the sampler needs them, otherwise empty
  /// [vocab] the row without the tokens that are left out, if log-probs are over the kept ones.
  std::vector<float> renormalised_;
  std::int64_t vocab_;
  const float* logits_ = nullptr;
  float scale_ = 1.0F;
  SampledToken row_{};  ///< the part that all draws from the row share
};

}  // namespace rollcall::model
