// Private to the model: the softmax over some tokens of the vocabulary, as the one over all of them
// with the other logits far below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rollcall::model {

/// Stands for the logit of a token that is left out. Its exponential is 0 beside those of the
/// others,
/// at any temperature and in every set of kernels.
inline constexpr float kLeftOut = -1e30F;

/// `logits` [count] of the ids from `first` on: those that are not among `kept`, which ascend, are
/// left out. An empty list keeps all. Log-prob, entropy and both gradients are then those of the
/// softmax over `kept`: the sampling mask that DeepSeek-V3.2 (arXiv:2512.02556, section 3.1) keeps
/// from drawing to training.
inline void leave_out_others(std::span<const std::int32_t> kept, std::int64_t first,
                             std::int64_t count, float* logits) {
  if (kept.empty()) return;
  std::int64_t next = 0;
  for (auto id = std::lower_bound(kept.begin(), kept.end(), first);
       id != kept.end() && *id < first + count; ++id) {
    std::fill(logits + next, logits + (*id - first), kLeftOut);
    next = *id - first + 1;
  }
  std::fill(logits + next, logits + count, kLeftOut);
}

}  // namespace rollcall::model
