// Advantage virtual_best: rewards standardised within their group as if it held one more rollout
// with the best reward.
//   A_i = (r_i - mu) / (sigma + eps), mu and sigma (n - 1) of r_1 .. r_n and best_reward
// Source: NGRPO, arXiv:2509.18851, section 3.1 (advantage calibration).
// Shapes: [B] -> [N].   Knobs: best_reward, adv_eps.
// What differs from group_norm: an all-wrong group gets equal negative advantages instead of none,
//   so failures teach exploration. An all-right group has spread 0 and teaches nothing. A group of
//   one is like any other.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct VirtualBest {
  static constexpr std::string_view
      name = "virtual_best",
      formula = "A_i = (r_i - mu) / (sigma + adv_eps) over r_1 .. r_n and best_reward";
  double best = 1.0, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("best_reward", best, {-1e6, 1e6}, "reward of the imagined rollout");
    knobs.reward_use.takes_largest([] { return true; }, [this] { return best; }, "best_reward");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the standard deviation");
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor n = step.shape.group_size,
                     least = step.shape.group_min(step.reward).clamp_max(best),
                     largest = step.shape.group_max(step.reward).clamp_min(best);
    const at::Tensor mean = at::minimum(
        at::maximum((step.shape.group_sum(step.reward) + best) / (n + 1), least), largest);
    const at::Tensor centred = step.reward - step.shape.over_rollouts(mean);
    const at::Tensor sigma =
        ((step.shape.group_sum(centred.square()) + (best - mean).square()) / n).sqrt();
    return step.shape.over_tokens(centred / (step.shape.over_rollouts(sigma) + eps));
  }
};

}  // namespace rollcall::objective
