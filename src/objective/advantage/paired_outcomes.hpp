// Advantage paired_outcomes: rare successes of hard prompts and rare failures of easy prompts count
// more; advantages are standardised over the whole step.
//   o_i = +pair_weight for a success, -1 for a failure where at most half of the group is correct;
//   +1 and -pair_weight elsewhere
//   A_i = (o_i - mean) / std over the step's rollouts with tokens, std divided by their number; a
//   spread up to adv_eps divides by 1
// Source: Beyond Variance, arXiv:2602.03452: Weighted GRPO on a pair of prompts, one hard and one
//   easy. The weight and the form of o are inferred.
// Shapes: [B] -> [N].   Knobs: pair_weight, adv_eps.
// What differs from group_norm: group_norm divides by each group's own spread, which would cancel a
//   weight of the group, so here the moments are taken over the pair. The paper's step is one pair;
//   here the moments of several pairs are taken together. The group itself decides whether its
//   prompt is hard.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct PairedOutcomes {
  static constexpr std::string_view
      name = "paired_outcomes",
      formula =
          "A_i = (o_i - mean) / std of the step, o = +w or -1 on hard prompts, +1 or -w on easy ones";
  double weight = 4.0, eps = 1e-8;

  void bind(Knobs& knobs) {
    knobs.number("pair_weight", weight, {0.0, 1e6},
                 "of the rarer outcome: a success of a hard prompt, a failure of an easy one");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "a spread up to this divides by 1");
    trains_on_correct(knobs);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor& correct = step.named(column::correct);
    const at::Tensor hard = (step.shape.over_rollouts(step.shape.group_mean(correct)) <= 0.5)
                                .to(at::kDouble),
                     counted = (step.shape.length > 0).to(at::kDouble);
    const at::Tensor outcome =
        at::where(correct > 0, 1.0 + (weight - 1.0) * hard, -weight + (weight - 1.0) * hard);
    const at::Tensor share = counted / counted.sum().clamp_min(1.0),
                     centred = outcome - mean_of(outcome, counted);
    const double spread = (centred.square() * share).sum().sqrt().item<double>();
    return step.shape.over_tokens(spread > eps ? centred / spread : centred);
  }
};

}  // namespace rollcall::objective
