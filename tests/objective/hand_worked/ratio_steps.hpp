// Steps like worked_step() with other ratios, and with a sampler that disagrees with the old
// policy.
#pragma once

#include "hand_worked.hpp"

namespace rollcall::objective::test {

/// One prompt, rewards 1 and 0; every old probability is 1/2. `first` and `second`: ratios of the
/// two rollouts' tokens;
/// `importance`: old over sampler's probability of each token, all 1 when empty.
inline PlainStep ratio_step(const std::vector<double>& first, const std::vector<double>& second,
                            const std::vector<double>& importance = {}) {
  PlainStep step = worked_step();
  step.rollouts[0] = step.rollouts[1] = {};
  step.rollouts[0].reward = 1.0;
  std::size_t token = 0;
  for (auto [rollout, ratios] :
       {std::pair(&step.rollouts[0], &first), std::pair(&step.rollouts[1], &second)}) {
    for (const double ratio : *ratios) {
      const double half = std::log(0.5);
      rollout->now.push_back(half + std::log(ratio));
      rollout->old.push_back(half);
      rollout->rollout.push_back(half - std::log(importance.empty() ? 1.0 : importance[token]));
      rollout->reference.push_back(half);
      rollout->entropy.push_back(1.0);
      ++token;
    }
  }
  return step;
}

}  // namespace rollcall::objective::test
