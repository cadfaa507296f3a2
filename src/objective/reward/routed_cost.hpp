// Reward routed_cost: a right answer earns more if its help cost less.
//   r_i = -1 where component/format_i < 1/2, else c_i ((1 - cost_alpha) + cost_alpha u_i);  c_i: 1
//   where the rollout is correct;  u = 1 - clip((x - q_05) / (q_95 - q_05), 0, 1), x = sqrt(cost)
//   q: quantiles of x over the rollouts with tokens, as a moving statistic: q += cost_rate (own - q)
//   in each step, its own included; statistics cost_low, cost_high
// Source: Router-R1, arXiv:2506.09033, and its released code (the cost counts only for right
//   answers; quantiles over a window of 1,000; its default alpha is 0).
// Shapes: columns component/cost, component/format, correct [B] -> [B].   Knobs: cost_alpha,
//   cost_rate.
// What differs: it replaces the reward. Quantiles move towards the quantiles of each step, whereas
//   the source uses a window. Where all costs are equal, u is 1.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct RoutedCost {
  static constexpr std::string_view
      name = "routed_cost",
      formula =
          "r_i = -1 without form, else [correct] (1 - cost_alpha + cost_alpha u_i), u: how "
          "little was paid";
  double alpha = 0.5, rate = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("cost_alpha", alpha, {0.0, 1.0}, "share of a right answer's reward that is cost");
    knobs.number("cost_rate", rate, {0.0, 1.0},
                 "how far the quantiles of costs move towards those of a step");
    knobs.needs.column("component/cost");
    knobs.needs.column("component/format");
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor x = step.named("component/cost").clamp_min(0.0).sqrt(),
                     counted = x.masked_select(step.shape.length > 0);
    ShapedReward shaped;
    at::Tensor cheap = at::ones_like(x);
    if (counted.numel() > 0) {
      const double low = moved(step, "cost_low", counted, 0.05),
                   high = moved(step, "cost_high", counted, 0.95);
      shaped.statistics = {{"cost_low", low}, {"cost_high", high}};
      if (high > low) cheap = 1.0 - ((x - low) / (high - low)).clamp(0.0, 1.0);
    }
    const at::Tensor right = (step.named(column::correct) > 0.5).to(at::kDouble);
    shaped.reward = at::where(step.named("component/format") < 0.5, -1.0,
                              right * (1.0 - alpha + alpha * cheap));
    return shaped;
  }

 private:
  double moved(const Step& step, const char* end, const at::Tensor& x, double share) const {
    const double own = at::quantile(x, share).item<double>(), before = step.statistic(end, own);
    return before + rate * (own - before);
  }
};

}  // namespace rollcall::objective
