// Reward zero_truncated: an answer that does not end within the target length earns nothing.
//   r_i = 0 where rollout i was cut off, or T_i > L_g; else unchanged
//   L_g = easy_length where it is set and the group's share of correct answers is at least
//   easy_rate, else target_length
// Source: DLER, arXiv:2510.15110, section 3 (the truncation penalty), and its DA-DLER (targets by
//   difficulty: 2000 tokens from a pass rate of 0.5 on, else 4000).
// Shapes: [B], with easy_length also column correct [B] -> [B].   Knobs: target_length,
//   easy_length, easy_rate.
// What differs from weight drop_truncated: a rollout that is cut off stays and counts as a failure.
//   Below the target the length does not matter.
#pragma once

#include "objective/pieces.hpp"

#include <limits>

namespace rollcall::objective {

struct ZeroTruncated {
  static constexpr std::string_view
      name = "zero_truncated",
      formula = "r_i = 0 where cut off or T_i > target_length, easy_length in easy groups";
  double target = 0.0, easy = 0.0, easy_rate = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("target_length", target, {0.0, 1e9},
                 "longest answer that may earn reward; 0: the token limit alone");
    knobs.number("easy_length", easy, {0.0, 1e9},
                 "the same for prompts that mostly succeed; 0: target_length for all");
    knobs.number("easy_rate", easy_rate, {0.0, 1.0},
                 "share of correct answers from which a prompt is easy");
    knobs.needs.column([this] { return easy > 0.0; }, column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor longest =
        at::full({step.shape.rollouts},
                 target > 0.0 ? target : std::numeric_limits<double>::infinity(), at::kDouble);
    if (easy > 0.0)
      longest = at::where(
          step.shape.over_rollouts(step.shape.group_mean(step.named(column::correct))) >= easy_rate,
          easy, longest);
    return {step.reward.masked_fill(step.columns.truncated.logical_or(step.shape.length > longest),
                                    0.0),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
