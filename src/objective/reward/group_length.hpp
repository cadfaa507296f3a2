// Reward group_length: shorter answers are better, measured between the shortest and the longest
// answer of the group.
//   l_i = 1/2 - (T_i - min_g T) / (max_g T - min_g T), 0 where all are equally long;  correct: r_i
//   += w l_i, wrong: r_i += w min(0, l_i)
//   w = group_length_weight, from the share group_length_from of training on
// Source: Kimi k1.5, arXiv:2501.12599 (length penalty, and its start after training without it).
//   Weight and start were not found: 1/2 and 1/2 are inferred.
// Shapes: [B] column correct -> [B].   Knobs: group_length_weight, group_length_from.
// What differs from overlong: the length is measured within the group, not against the limit. A
//   short wrong answer gains nothing, and a long one loses. Rollouts without tokens are not
//   measured.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct GroupLength {
  static constexpr std::string_view
      name = "group_length",
      formula = "r_i += w (1/2 - (T - min) / (max - min)), a wrong one at most 0";
  double weight = 0.5, from = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("group_length_weight", weight, {0.0, 1e6}, "weight w of the length reward");
    knobs.number("group_length_from", from, {0.0, 1.0}, "share of training after which it counts");
    knobs.needs.column(column::correct);
    knobs.moves("group_length_weight", [this](const Step& step) {
      return from <= 0.0 ? NAN : step.columns.progress < from ? 0.0 : weight;
    });
  }

  ShapedReward operator()(const Step& step) const {
    if (step.columns.progress < from) return {};
    const at::Tensor there = step.shape.length > 0,
                     longest = step.shape.group_max(step.shape.length);
    const at::Tensor shortest = at::minimum(
                         step.shape.group_min(at::where(there, step.shape.length, 1e18)), longest),
                     range = longest - shortest;
    const at::Tensor l = 0.5 - (step.shape.length - step.shape.over_rollouts(shortest)) /
                                   step.shape.over_rollouts(range.clamp_min(1.0));
    const at::Tensor bounded = at::where(step.named(column::correct) > 0, l, l.clamp_max(0.0));
    return {step.reward + weight * at::where(there.logical_and(step.shape.over_rollouts(range) > 0),
                                             bounded, 0.0),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
