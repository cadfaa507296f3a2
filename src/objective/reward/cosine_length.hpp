// Reward cosine_length: shorter correct answers earn more, and shorter wrong answers lose more.
//   r_i = end + (start - end) (1 + cos(pi T_i / H)) / 2, start and end by correctness: 2 and 1, or
//   -10 and 0; cut off: -10
// Source: Demystifying Long Chain-of-Thought Reasoning, arXiv:2502.03373 (cosine reward), with the
//   values of its released scripts for section 4.2.
// Shapes: [B] column correct -> [B].   Knobs: right_short, right_long, wrong_short, wrong_long,
//   cut_reward.
// What differs: it replaces the reward. The policy is trained to think longer where it fails, and
//   to be brief where it succeeds.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct CosineLength {
  static constexpr std::string_view
      name = "cosine_length",
      formula = "r_i = end + (start - end) (1 + cos(pi T / H)) / 2, ends by correctness";
  double right_short = 2.0, right_long = 1.0, wrong_short = -10.0, wrong_long = 0.0, cut = -10.0;

  void bind(Knobs& knobs) {
    knobs.number("right_short", right_short, {-1e6, 1e6},
                 "reward of a correct answer of no length");
    knobs.number("right_long", right_long, {-1e6, 1e6},
                 "reward of a correct answer at the token limit");
    knobs.number("wrong_short", wrong_short, {-1e6, 1e6}, "reward of a wrong answer of no length");
    knobs.number("wrong_long", wrong_long, {-1e6, 1e6},
                 "reward of a wrong answer at the token limit");
    knobs.number("cut_reward", cut, {-1e6, 1e6}, "reward of an answer that the limit cut off");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor correct = step.named(column::correct) > 0,
                     at_start = (1.0 + (step.shape.length * (M_PI / step.horizon())).cos()) / 2.0;
    const at::Tensor right = right_long + (right_short - right_long) * at_start,
                     wrong = wrong_long + (wrong_short - wrong_long) * at_start;
    return {at::where(correct, right, wrong).masked_fill(step.columns.truncated, cut), {}, {}};
  }
};

}  // namespace rollcall::objective
