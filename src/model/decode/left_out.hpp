// Private to the model: the softmax over part of the vocabulary, computed as a softmax over all of
// it with the other logits set far below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rollcall::model {

/// Replaces the logit of a token that is left out. Its exponential is 0 next to those of the other
/// tokens, at any temperature and in every set of kernels.
inline constexpr float kLeftOut = -1e30F;

/// Replaces the logits of all ids that are not in `kept`. `logits` [count] belong to the ids from
/// `first` on. `kept` ascends; an empty list keeps all ids. Log-prob, entropy and their gradients
/// are then those of the softmax over `kept`. DeepSeek-V3.2 (arXiv:2512.02556, section 3.1) applies
/// the same mask in sampling and in training.
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
