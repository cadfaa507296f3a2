// Advantage gpg_scale: group-centred rewards, scaled up to compensate for the rollouts that teach
// nothing.
//   A_i = (B / (B - M)) (r_i - mean_g) / gpg_norm;  B the step's rollouts with tokens, M those of
//   groups whose rewards are all equal
//   gpg_counts rewarded: M are the rollouts with r = 0
// Source: GPG, arXiv:2504.02546, section 3 (alpha = B / (B - M), F_norm 1), and its released
//   trainers; verl's estimator of that name counts the rewarded rollouts.
// Shapes: [B] -> [N].   Knobs: gpg_norm, gpg_counts.
// What differs from group_center: a step with many groups that teach nothing is scaled up, so the
//   size of the derivative depends less on difficulty. A group of one never counts as one with
//   equal rewards.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct GpgScale {
  static constexpr std::string_view
      name = "gpg_scale",
      formula =
          "A_i = B / (B - M) (r_i - mean_g) / gpg_norm, M rollouts of groups with equal rewards";
  enum class Counts { unequal, rewarded };
  double norm = 1.0;
  Counts counts = Counts::unequal;

  void bind(Knobs& knobs) {
    knobs.number("gpg_norm", norm, {1e-6, 1e6}, "constant that divides");
    knobs.choice(
        "gpg_counts", counts, {"unequal", "rewarded"},
        "rollouts that are made to stand for all: of groups whose rewards differ, or with a reward");
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor present = step.shape.length > 0;
    const at::Tensor differ =
        step.shape.group_differs(step.reward).logical_or(step.shape.group_size < 1.5);
    const at::Tensor teaches = counts == Counts::rewarded
                                   ? step.reward != 0
                                   : step.shape.over_rollouts(differ.to(at::kDouble)) > 0;
    const double few = present.logical_and(teaches).sum().item<double>(),
                 alpha = present.sum().item<double>() / std::max(1.0, few);
    return step.shape.over_tokens(alpha / norm * (step.reward - step.baseline()));
  }
};

}  // namespace rollcall::objective
