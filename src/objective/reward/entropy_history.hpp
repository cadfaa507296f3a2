// Reward entropy_history: leaves the rewards alone and remembers the mean entropy of all steps so
// far, for regularizer entropy_band.
//   m += (h - m) / k at the k-th step, h the mean over its tokens of the entropy where they were
//   sampled; statistics entropy_history (m), entropy_steps (k)
// Source: EPO, arXiv:2509.22576, and its released trainer: the mean over all epochs so far of a
//   turn's entropy. Here an answer is one turn.
// Shapes: none change.   Knobs: none.
// What differs from none: the next step's entropy_band reads this history.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyHistory {
  static constexpr std::string_view name = "entropy_history",
                                    formula = "m += (h - m) / k, h the step's mean entropy";

  void bind(Knobs& knobs) {
    knobs.needs.column(column::old_entropy);
    knobs.moves("entropy_history",
                [](const Step& step) { return step.statistic("entropy_history", 0.0); });
  }

  ShapedReward operator()(const Step& step) const {
    if (step.shape.tokens == 0) return {};
    const double h = step.named(column::old_entropy).sum().item<double>() /
                     double(step.shape.tokens),
                 k = step.statistic("entropy_steps", 0.0) + 1.0;
    const double before = step.statistic("entropy_history", 0.0);
    return {{}, {}, {{"entropy_history", before + (h - before) / k}, {"entropy_steps", k}}};
  }
};

}  // namespace rollcall::objective
