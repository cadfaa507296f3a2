// Advantage own_group_norm: group_norm over the rollouts that the policy sampled itself.
//   A_i = (r_i - mean) / (std + eps) with moments over the group's rollouts with expert = 0, std
//   with n - 1;  0 for expert rollouts
// Source: CHORD, arXiv:2508.11408, and DYPO, arXiv:2604.08926: expert traces have their own loss
//   and stay out of GRPO's groups.
// Shapes: [B] rewards -> [N].   Knobs: adv_eps.
// What differs from group_norm: an expert's reward neither raises the baseline nor widens the
//   spread. Without experts it is the same.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct OwnGroupNorm {
  static constexpr std::string_view name = "own_group_norm",
                                    formula =
                                        "A_i = (r_i - mean_own) / (std_own + adv_eps), experts 0";
  double eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the standard deviation");
    knobs.needs.column(column::expert);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor own = (step.named(column::expert) < 0.5).to(at::kDouble),
                     count = step.shape.group_sum(own);
    const at::Tensor mean = step.shape.group_mean(step.reward, own) * (count > 1);
    const at::Tensor centred = (step.reward - step.shape.over_rollouts(mean)) * own;
    const at::Tensor spread =
        (step.shape.group_sum(centred.square()) / (count - 1).clamp_min(1)).sqrt() + eps;
    return step.shape.over_tokens(centred /
                                  step.shape.over_rollouts(at::where(count > 1, spread, 1.0)));
  }
};

}  // namespace rollcall::objective
