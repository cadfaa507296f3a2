// Reward triangular_length: a share of the reward for answers near a budget that shrinks over
// training.
//   B_t = max(1, floor(budget_start * budget_decay^progress));  l_i = T_i / B up to B, 2 - T_i / B
//   up to 2 B, then 0;  r_i = (1 - w) r_i + w l_i
// Source: Reinforcement Mid-Training, arXiv:2509.24375, section 4 (800, 0.2; the weight w is not
//   printed, here 0.1).
// Shapes: [B] -> [B].   Knobs: budget_start, budget_decay, length_share.
// What differs: the reward is largest at the budget, whereas other pieces reward ever shorter
//   answers.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct TriangularLength {
  static constexpr std::string_view
      name = "triangular_length",
      formula = "r = (1-w) r + w tri(T / B), B = max(1, floor(start * decay^progress))";
  double start = 800.0, decay = 0.2, share = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("budget_start", start, {1.0, 1e9}, "length budget at the first step, tokens");
    knobs.number("budget_decay", decay, {1e-6, 1.0},
                 "budget once all steps are done, relative to the start");
    // The budget is a bound for answers that reach it, at the latest when it is smallest.
    knobs.loss_use.acts_from([this] { return std::max(1.0, std::floor(start * decay)); },
                             "budget_start");
    knobs.moves("length_budget", [this](const Step& step) { return budget(step); });
    knobs.number("length_share", share, {0.0, 1.0}, "weight w of the length reward");
  }

  double budget(const Step& step) const {
    return std::max(1.0, std::floor(start * std::pow(decay, step.columns.progress)));
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor triangle =
        (1.0 - (step.shape.length / budget(step) - 1.0).abs()).clamp_min(0.0);
    return {(1.0 - share) * step.reward + share * triangle, {}, {}};
  }
};

}  // namespace rollcall::objective
