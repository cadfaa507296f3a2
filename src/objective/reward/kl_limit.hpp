// Reward kl_limit: a rollout that has gone too far from the reference policy earns nothing.
//   r_i = 0 where sum_t (old_it - reference_it) > kl_most
// Source: The Perfect Blend (CGPO), arXiv:2409.20370 (KL_max of the constrained reward; 5 is its
//   looser example, for mathematics and code).
// Shapes: [N] -> [B].   Knobs: kl_most.
// What differs from kl_in_reward: it is a gate and not a price. Below the limit nothing is charged,
//   and above it no score can make up for the divergence.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KlLimit {
  static constexpr std::string_view name = "kl_limit",
                                    formula =
                                        "r_i = 0 where sum_t (old_it - reference_it) > kl_most";
  double most = 5.0;

  void bind(Knobs& knobs) {
    knobs.number("kl_most", most, {0.0, 1e6},
                 "log-ratio of a whole answer to the reference that is still allowed, nats");
    knobs.needs.column(column::reference_logprob);
  }

  ShapedReward operator()(const Step& step) const {
    return {step.reward.masked_fill(
                step.shape.rollout_sum(step.columns.old_logprob -
                                       step.named(column::reference_logprob)) > most,
                0.0),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
