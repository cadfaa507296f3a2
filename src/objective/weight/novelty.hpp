// Weight novelty: a correct answer that is less likely than its group gains advantage.
//   s_i = mean_t old_it;  eta_i = exp(s_i - mean_g s);  A+_it = A_it + min(max(novelty_lambda (1 -
//   eta_i), 0), novelty_cap A_it) where correct and A_it > 0;
//   w_it = A+_it / A_it
// Source: XRPO, arXiv:2510.06672, eq. 6 (its coefficients 2.5 and 0.5 are the row's settings).
// Shapes: [N], [B] column correct -> [N].   Knobs: novelty_lambda, novelty_cap.
// What differs from none: w is at most 1 + novelty_cap, so the sharpening never outweighs the
//   reward. The mean is taken over the group's rollouts with tokens.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Novelty {
  static constexpr std::string_view
      name = "novelty",
      formula = "w_it = 1 + min(max(lambda (1 - eta_i), 0) / A_it, cap) where correct and A > 0";
  double lambda = 1.0, cap = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("novelty_lambda", lambda, {0.0, 1e6},
                 "advantage gained by an answer of vanishing likelihood");
    knobs.number("novelty_cap", cap, {0.0, 1e6}, "largest gain relative to the advantage");
    knobs.needs.column(column::correct);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor score = step.shape.rollout_mean(step.columns.old_logprob),
                     counted = (step.trained_length > 0).to(at::kDouble);
    const at::Tensor mean =
        step.shape.group_sum(score * counted) / step.shape.group_sum(counted).clamp_min(1.0);
    const at::Tensor gain =
        (lambda * (1.0 - (score - step.shape.over_rollouts(mean)).clamp(-20.0, 20.0).exp()))
            .clamp_min(0.0);
    const at::Tensor eligible =
        step.shape.over_tokens(step.named(column::correct) > 0).logical_and(step.advantage > 1e-9);
    return {
        1.0 + at::where(
                  eligible,
                  (step.shape.over_tokens(gain) / step.advantage.clamp_min(1e-9)).clamp_max(cap),
                  0.0),
        {}};
  }
};

}  // namespace rollcall::objective
