// Private to the model: tokens with their columns from one row of logits at a time.
#pragma once

#include "model/sampling.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::model {

struct Drawn {
  std::int32_t token;
  float logprob, entropy;
};

/// What a thread draws with.
class Drawer {
 public:
  Drawer(const SamplingParams& sampling, std::int64_t vocab, const kernels::KernelSet& kernels)
      : kernels_(&kernels),
        sampler_(sampling, vocab, kernels),
        masses_(std::size_t(kernels::vocabulary_blocks(vocab)) + 1),
        exponentials_(sampler_.needs_exponentials() ? std::size_t(vocab) : 0),
        vocab_(vocab) {}

  /// Takes the columns of a row [vocab], which is borrowed until the next; they leave it in the cache for draw().
  void read(kernels::ExecutionContext& context, const float* logits, float inverse_temperature) {
    constexpr std::int32_t kNone = -1;
    float unused = 0.0F, lse = 0.0F;
    logits_ = logits, scale_ = inverse_temperature;
    kernels_->token_columns(context, logits, 1, vocab_, scale_, &kNone, &unused, &entropy_, &lse, masses_.data(),
                            exponentials_.empty() ? nullptr : exponentials_.data());
  }
  /// `u` in [0, 1). Any number of draws from a row.
  Drawn draw(double u) {
    const std::int32_t token = sampler_.draw({logits_, masses_.data(), exponentials_.data()}, u);
    const kernels::BlockMass& whole = masses_.back();
    return {token, logits_[token] * scale_ - whole.largest - whole.sum, entropy_};
  }

 private:
  const kernels::KernelSet* kernels_;
  TokenSampler sampler_;
  std::vector<kernels::BlockMass> masses_;
  std::vector<float> exponentials_;  ///< where the sampler needs them
  std::int64_t vocab_;
  const float* logits_ = nullptr;
  float scale_ = 1.0F, entropy_ = 0.0F;
};

}  // namespace rollcall::model
