// Advantage gated_gain: the outcome compared with the group, plus how much the answer to a turn
// changed the policy's next turn. The second term weighs more where outcomes differ less.
//   A_ik = (r_i - mean_g) / (std_g + adv_eps) + gain_weight exp(-var_g / gate_width) z_ik
//   g_ik = mean over the tokens of turn k+1 of (old - masked), masked: its log-prob where the
//   environment's answer to turn k is masked;  z: g standardised over the prompt's turns but the
//   last of each rollout, which have none;  var_g: variance of the outcomes, with n
// Source: InfoPO, arXiv:2603.00656 (information gain of a turn, gated by the group's variance of
//   outcomes; the averaging, the form and width of the gate and the weight are inferred).
// Shapes: [B] rewards, column masked_logprob [N] -> [N].   Knobs: gain_weight, gate_width, adv_eps.
// What differs from group_norm: where all rollouts fail or all succeed, turns whose answers mattered
//   still differ from those whose answers did not. An answer that changes nothing has no gain.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GatedGain {
  static constexpr std::string_view
      name = "gated_gain",
      formula = "A = (r_i - mean_g) / (std_g + eps) + gain_weight exp(-var_g / gate_width) z(gain)";
  double weight = 1.0, width = 0.1, eps = 1e-6;

  void bind(Knobs& knobs) {
    knobs.number("gain_weight", weight, {0.0, 1e6},
                 "weight of a turn's gain where nothing gates it");
    knobs.number("gate_width", width, {1e-6, 1e6},
                 "variance of a group's outcomes at which the weight has fallen to 1 / e");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to standard deviations");
    knobs.needs.column(column::masked_logprob);
  }

  at::Tensor operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const at::Tensor several = step.shape.over_rollouts(step.shape.group_size > 1),
                     a = (step.reward - step.baseline()) /
                         at::where(several, step.spread() + eps, 1.0),
                     gate = at::where(several, (step.spread(true).square() / -width).exp(), 1.0);
    const at::Tensor said = turns.turn_mean(step.columns.old_logprob -
                                            step.named(column::masked_logprob)),
                     end = turns.ends();
    // The gain of a turn shows in the next turn, so the last turns are in no class.
    const at::Tensor gain = said.roll(-1).masked_fill(end, 0.0),
                     key = at::where(end, -1 - at::arange(turns.turns),
                                     turns.over_turns(step.shape.group));
    const at::Tensor z =
        turns.centred(gain, key, TurnShape::Centre::standard, TurnShape::Alone::zero, eps);
    return turns.over_tokens(turns.over_turns(a) + turns.over_turns(weight * gate) * z);
  }
};

}  // namespace rollcall::objective
