// Advantage teacher_gap: how much likelier the teacher finds the sampled token, as a reward per
// token.
//   A_it = teacher_it - old_it - V_it + outcome_coef (r_i - mean_g);  V_it = -KL(old || teacher) at
//   the token's place (column teacher_kl), or 0
// Source: on-policy distillation by the reverse divergence per token: GKD, arXiv:2306.13649, and
//   Thinking Machines 2025; V: vOPD, arXiv:2605.07865.
// Shapes: columns teacher_logprob, teacher_kl [N] -> [N].   Knobs: distill_baseline, outcome_coef.
// What differs: the reward comes from the teacher and not from the verifier. With the exact V the
//   advantage has mean 0 under the sampling policy at every place, so the gradient keeps its mean,
//   usually with less variance.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct TeacherGap {
  static constexpr std::string_view
      name = "teacher_gap",
      formula = "A_it = teacher_it - old_it + KL_it(old || teacher) + outcome_coef (r_i - mean_g)";
  enum class Baseline { none, exact };
  Baseline baseline = Baseline::exact;
  double outcome = 0.0;

  void bind(Knobs& knobs) {
    knobs.choice("distill_baseline", baseline, {"none", "exact"},
                 "what is subtracted: nothing, or the value of the place");
    knobs.number("outcome_coef", outcome, {0.0, 1e6}, "weight of the verifier's advantage besides");
    knobs.needs.column(column::teacher_logprob);
    knobs.reward_use.trains_on("what the teacher finds likely (advantage.outcome_coef is 0)",
                               [this] { return outcome == 0.0; });
    knobs.needs.column([this] { return baseline == Baseline::exact; }, column::teacher_kl);
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor advantage = step.named(column::teacher_logprob) - step.columns.old_logprob;
    if (baseline == Baseline::exact) advantage = advantage + step.named(column::teacher_kl);
    return outcome == 0.0
               ? advantage
               : advantage + outcome * step.shape.over_tokens(step.reward - step.baseline());
  }
};

}  // namespace rollcall::objective
