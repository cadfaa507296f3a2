// Sums over the policy's tokens, for code that displays rollouts.
#pragma once

#include "core/rollout.hpp"

#include <cmath>
#include <cstdint>

namespace rollcall {

/// Tokens that were given to the policy have no log-prob and no entropy (NaN), and count only as
/// its tokens.
struct PolicySums {
  std::uint64_t tokens = 0, sampled = 0;
  double logprob = 0.0, entropy = 0.0;  ///< over the sampled tokens

  void add(const Rollout& rollout) {
    for (const Turn& turn : rollout.turns) {
      tokens += turn.columns.logprob.size();
      for (const float value : turn.columns.logprob)
        if (!std::isnan(value)) ++sampled, logprob += double(value);
      for (const float value : turn.columns.entropy)
        if (!std::isnan(value)) entropy += double(value);
    }
  }
};

inline PolicySums policy_sums(const Rollout& rollout) {
  PolicySums sums;
  sums.add(rollout);
  return sums;
}

}  // namespace rollcall
