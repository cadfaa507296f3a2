// Weight entropy_lift: tokens that were less decided than their group count more.
//   w_it = max(0, 1 + lift_coef z_it),  z_it = (h_it - m_g) / (s_g + 1e-6), h the entropy where the
//   token was sampled, m_g and s_g its mean and spread (with n) over the tokens of the group
// Source: AEPO, arXiv:2510.14545 (A (1 + a z(H)), by a third party's summary; a is not in it: 0.2
//   is ours).
// Shapes: column old_entropy [N] -> [N].   Knobs: lift_coef.
// What differs from entropy_balance: it weights tokens and not answers, and undecided tokens count
//   more. The summary does not bound it. Here it is at least 0, because no sign may flip.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyLift {
  static constexpr std::string_view name = "entropy_lift",
                                    formula =
                                        "w_it = max(0, 1 + lift_coef (h_it - m_g) / s_g), over the "
                                        "tokens of the group";
  double coef = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("lift_coef", coef, {0.0, 1e6}, "weight per standard deviation of entropy");
    knobs.needs.column(column::old_entropy);
  }

  TokenWeight operator()(const Step& step) const {
    const StepShape& shape = step.shape;
    const auto group_mean = [&](const at::Tensor& per_token) {
      return shape.over_tokens(shape.over_rollouts(shape.group_sum(shape.rollout_sum(per_token)) /
                                                   shape.group_sum(shape.length).clamp_min(1.0)));
    };
    const at::Tensor& h = step.named(column::old_entropy);
    const at::Tensor apart = h - group_mean(h);
    return {(1.0 + coef * apart / (group_mean(apart.square()).sqrt() + 1e-6)).clamp_min(0.0), {}};
  }
};

}  // namespace rollcall::objective
