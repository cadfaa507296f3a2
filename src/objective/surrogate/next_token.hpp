// Surrogate next_token: every token of an expert's text as a one-step episode of policy gradient, its draws averaged out exactly.
//   reward of drawing a where the text has y: p(y)^-q for a = y, c for a != y;  E_a[r_a grad log p(a)] = (p(y)^-q - c) p(y) grad log p(y)
//   expert (column expert): L = -(p^(1 - q) - c p) lp, p = exp(lp), the factor frozen;  own: L = 0
// Source: OTR, arXiv:2509.26313 (q = 0, c = its penalty, there estimated by K draws, here their expectation); Diversity or Precision, arXiv:2512.22955
// (cross-entropy is q = 1, c = 0; form inferred, one reward for all wrong tokens).
// Shapes: [M] -> [M].   Knobs: target_power, wrong_reward.
// What differs from expert_mix: nothing is learned from own rollouts, and q moves between likelihood (1) and the probability itself (0), which leaves tokens alone
// that the policy does not believe in.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct NextToken {
  static constexpr std::string_view name = "next_token", formula = "expert: L = -(p^(1 - q) - c p) lp, p frozen; own: 0";
  double target_power = 1.0, wrong_reward = 0.0;

  void bind(Knobs& knobs) {
    knobs.number("target_power", target_power, {0.0, 2.0}, "q: the text's token is rewarded by p^-q; 1 is likelihood, less is sharper");
    knobs.number("wrong_reward", wrong_reward, {-10.0, 0.0}, "c: reward of every other token of the vocabulary");
    knobs.needs_column(column::expert);
  }

  SurrogateLoss operator()(const Leaf& leaf, const at::Tensor& /*ratio*/) const {
    const at::Tensor expert = leaf.over_tokens(leaf.take_rollouts(leaf.step.named(column::expert))), lp = leaf.logprob.detach().clamp(-20.0, 0.0);
    const at::Tensor reward = ((1.0 - target_power) * lp).exp() - wrong_reward * lp.exp();
    return {-expert * reward * leaf.logprob, {}};
  }
};

}  // namespace rollcall::objective
