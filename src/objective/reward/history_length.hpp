// Reward history_length: an answer gains if it is shorter than the prompt's shortest correct answer
// so far, and loses if it is longer.
//   c_i = cos(min(T_i / h, 2) pi / 2), 0 while h is unset;  correct: r_i += w max(floor, c_i);
//   wrong: r_i += w min(0, c_i)
// Source: HAPO, arXiv:2505.11225, section 3 (cosine form, w 1, floor -0.7).
// Shapes: [B] -> [B].   Knobs: history_weight, history_floor.
// What differs: the length h to compare with (column prompt_best_length) belongs to the prompt and
//   outlives the step. Short wrong answers win nothing, and the floor keeps every correct answer
//   above every wrong one.
#pragma once

#include "objective/pieces.hpp"

#include <cmath>

namespace rollcall::objective {

struct HistoryLength {
  static constexpr std::string_view
      name = "history_length",
      formula = "c = cos(min(T/h, 2) pi/2); r += w max(floor, c) if correct, else w min(0, c)";
  double weight = 1.0, floor = -0.7;

  void bind(Knobs& knobs) {
    knobs.number("history_weight", weight, {0.0, 1.0}, "weight w of the length reward");
    knobs.number("history_floor", floor, {-1.0, 0.0}, "least length reward of a correct answer");
    knobs.needs.column(column::prompt_best_length);
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor& best = step.named(column::prompt_best_length);
    const at::Tensor c =
        ((step.shape.length / best.clamp_min(1.0)).clamp_max(2.0) * (M_PI / 2)).cos();
    const at::Tensor bounded =
        at::where(step.named(column::correct) > 0, c.clamp_min(floor), c.clamp_max(0.0));
    return {step.reward + weight * at::where(best > 0, bounded, 0.0), {}, {}};
  }
};

}  // namespace rollcall::objective
