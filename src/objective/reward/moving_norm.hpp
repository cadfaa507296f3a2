// Reward moving_norm: rewards are standardised by the moments of the whole run so far, and bounded.
//   r_i = clip((r_i - m) / (s + 1e-4), +-moving_bound);  m, s mean and deviation of the rewards of
//   all steps so far, this one included; those of k steps ago have the weight moving_decay^k
//   statistics moving_count, moving_sum, moving_squares
// Source: PPO-max in Secrets of RLHF, arXiv:2307.04964 (normalisation by past moments, and
//   clipping). Its bound was not found; here it is 5.
// Shapes: [B] -> [B].   Knobs: moving_decay, moving_bound.
// What differs from whitened advantages: no batch decides its own scale, so a step in which all
//   rollouts fail stays a bad one. Rollouts without tokens are not counted. Metrics
//   moving/moving_mean and moving/moving_spread are m and s of earlier steps.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct MovingNorm {
  static constexpr std::string_view
      name = "moving_norm",
      formula = "r_i = clip((r_i - m) / (s + 1e-4), +-bound), moments of all steps so far";
  double decay = 1.0, bound = 5.0;

  void bind(Knobs& knobs) {
    knobs.number("moving_decay", decay, {0.0, 1.0},
                 "weight of a step's rewards relative to the next one's; 1: all alike");
    knobs.number("moving_bound", bound, {0.0, 1e6}, "largest size of a standardised reward");
    knobs.moves("moving_mean", [](const Step& step) { return moments_before(step).first; });
    knobs.moves("moving_spread", [](const Step& step) { return moments_before(step).second; });
  }

  /// Mean and deviation of the rewards of all earlier steps; NaN in the first step.
  static std::pair<double, double> moments_before(const Step& step) {
    const double count = step.statistic("moving_count", 0.0);
    if (count == 0.0) return {NAN, NAN};
    const double mean = step.statistic("moving_sum", 0.0) / count;
    return {mean,
            std::sqrt(std::max(0.0, step.statistic("moving_squares", 0.0) / count - mean * mean))};
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor counted = (step.shape.length > 0).to(at::kDouble), own = step.reward * counted;
    const double count = decay * step.statistic("moving_count", 0.0) + counted.sum().item<double>();
    const double sum = decay * step.statistic("moving_sum", 0.0) + own.sum().item<double>();
    const double squares =
        decay * step.statistic("moving_squares", 0.0) + (own * step.reward).sum().item<double>();
    if (count == 0.0) return {};
    const double mean = sum / count,
                 spread = std::sqrt(std::max(0.0, squares / count - mean * mean));
    return {((step.reward - mean) / (spread + 1e-4)).clamp(-bound, bound),
            {},
            {{"moving_count", count}, {"moving_sum", sum}, {"moving_squares", squares}}};
  }
};

}  // namespace rollcall::objective
