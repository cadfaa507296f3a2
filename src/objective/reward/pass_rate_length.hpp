// Reward pass_rate_length: answers near the token limit H are punished, but correct answers to hard
// prompts are spared.
//   r_i -= length_penalty * s_i * clip((T_i - (1-b) H) / (b H), 0, 1), b = buffer_share;  s_i =
//   p_g^pass_power where correct and not cut off, else 1;
//   p_g the share of correct answers in the group
// Source: Apriel-Reasoner, arXiv:2604.02007 (difficulty-aware length penalty), as its authors'
//   PipelineRL computes it (penalty 1 at the limit, wrong answers unscaled). Power and buffer are
//   settings without a default there: 1 and DAPO's fifth are this project's.
// Shapes: [B], [B] column correct -> [B].   Knobs: length_penalty, buffer_share, pass_power.
// What differs from overlong: a success in a group that hardly ever succeeds may run to the limit
//   at nearly no cost.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct PassRateLength {
  static constexpr std::string_view
      name = "pass_rate_length",
      formula = "r_i -= length_penalty s_i clip((T_i - (1-b) H) / (b H), 0, 1)";
  double penalty = 1.0, share = 0.2, power = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("length_penalty", penalty, {0.0, 1e6}, "punishment at the limit");
    knobs.number("buffer_share", share, {1e-6, 1.0},
                 "last share b of the token limit H over which the punishment grows");
    knobs.number(
        "pass_power", power, {0.0, 100.0},
        "exponent of the group's share of correct answers in the scale of a correct one's punishment");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const double limit = step.horizon();
    const at::Tensor correct = step.named(column::correct) > 0,
                     rate =
                         step.shape.over_rollouts(step.shape.group_mean(correct.to(at::kDouble)));
    const at::Tensor scale =
        at::where(correct.logical_and(step.columns.truncated.logical_not()), rate.pow(power), 1.0);
    const at::Tensor excess =
        ((step.shape.length - (1.0 - share) * limit) / (share * limit)).clamp(0.0, 1.0);
    return {step.reward - penalty * scale * excess, {}, {}};
  }
};

}  // namespace rollcall::objective
