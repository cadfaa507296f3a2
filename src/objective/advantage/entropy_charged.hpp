// Advantage entropy_charged: standardised rewards less the rollout's mean entropy.
//   A_i = group_norm_i - entropy_charge * mean_t H_it
// Source: GTPO, arXiv:2508.03772, section 4 (0.1).
// Shapes: [B], [N] column old_entropy -> [N].   Knobs: entropy_charge, adv_eps.
// What differs from group_norm: undecided rollouts are pushed down even where all rewards are equal. The entropy is a number, not differentiated.
#pragma once

#include "objective/advantage/group_norm.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyCharged {
  static constexpr std::string_view name = "entropy_charged", formula = "A_i = group_norm_i - entropy_charge * mean_t H_it";
  GroupNorm norm;
  double charge = 0.1;

  void bind(Knobs& knobs) {
    norm.bind(knobs);
    knobs.number("entropy_charge", charge, {0.0, 1e6}, "advantage lost per nat of mean entropy");
    knobs.needs_column(column::old_entropy);
  }

  at::Tensor operator()(const Step& step) const { return norm(step) - charge * step.over_tokens(step.rollout_mean(step.named(column::old_entropy))); }
};

}  // namespace rollcall::objective
