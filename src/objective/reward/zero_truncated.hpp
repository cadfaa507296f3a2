// Reward zero_truncated: an answer that does not end within the target length earns nothing.
//   r_i = 0 where rollout i was cut off, or T_i > target_length; else unchanged
// Source: DLER, arXiv:2510.15110, section 3 (the truncation penalty).
// Shapes: [B] -> [B].   Knobs: target_length.
// What differs from weight drop_truncated: a cut rollout stays and counts as a failure. No slope in the length below the target.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct ZeroTruncated {
  static constexpr std::string_view name = "zero_truncated", formula = "r_i = 0 where cut off or T_i > target_length";
  double target = 0.0;

  void bind(Knobs& knobs) { knobs.number("target_length", target, {0.0, 1e9}, "longest answer that may earn reward; 0: the token limit alone"); }

  ShapedReward operator()(const Step& step) const {
    at::Tensor lost = step.columns.truncated;
    if (target > 0.0) lost = lost.logical_or(step.length > target);
    return {step.reward.masked_fill(lost, 0.0), {}, {}};
  }
};

}  // namespace rollcall::objective
