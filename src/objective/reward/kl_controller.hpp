// Reward kl_controller: leaves the rewards alone and moves the coefficient of regularizer kl
// towards a wanted divergence.
//   D = mean over the update's tokens of old - current (column current_logprob), the statistic
//   kl_coef starts at kl_start
//   halving: kl_coef / 2 where D < target / 1.5, kl_coef * 2 where D > 1.5 target;  proportional:
//   kl_coef *= 1 + clip(D / target - 1, +-0.2) B / horizon
// Source: Proximal Policy Optimization, arXiv:1707.06347, section 4; proportional: Ziegler et al.
//   2019, arXiv:1909.08593, section 2.2.
// Shapes: none change.   Knobs: kl_target, kl_rule, kl_start, kl_horizon.
// What differs from none: it acts at every update, and the update's own kl still has the previous
//   coefficient. The divergence that an update has measured acts from the next update on, even in
//   the next step. An update that starts from the sampling policy (D exactly 0) gives no
//   information and changes nothing. The metric moving/kl_coef is the coefficient of the step's
//   first update.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct KlController {
  static constexpr std::string_view
      name = "kl_controller",
      formula = "kl_coef halved or doubled where D leaves [target / 1.5, 1.5 target]";
  enum class Rule { halving, proportional };
  double target = 0.01, start = 1.0, horizon = 10000;
  Rule rule = Rule::halving;

  void bind(Knobs& knobs) {
    knobs.number("kl_target", target, {1e-12, 1e6},
                 "wanted divergence from the policy that sampled");
    knobs.number("kl_start", start, {1e-12, 1e6}, "coefficient in the first step");
    knobs.number("kl_horizon", horizon, {1.0, 1e12},
                 "rollouts over which the proportional rule acts");
    knobs.choice("kl_rule", rule, {"halving", "proportional"}, "how the coefficient answers");
    knobs.needs.column(column::current_logprob);
    knobs.moves("kl_coef", [this](const Step& step) { return step.statistic("kl_coef", start); });
  }

  ShapedReward operator()(const Step& step) const {
    const double count = double(std::max<std::int64_t>(step.shape.tokens, 1));
    const double gone = (step.columns.old_logprob - step.named(column::current_logprob))
                            .clamp(-20.0, 20.0)
                            .sum()
                            .item<double>() /
                        count;
    double coef = step.statistic("kl_coef", start);
    if (gone != 0.0 && rule == Rule::proportional)
      coef *=
          1.0 + std::clamp(gone / target - 1.0, -0.2, 0.2) * double(step.shape.rollouts) / horizon;
    if (gone != 0.0 && rule == Rule::halving)
      coef *= gone < target / 1.5 ? 0.5 : gone > 1.5 * target ? 2.0 : 1.0;
    return {{}, {}, {{"kl_coef", std::clamp(coef, 1e-12, 1e6)}}};
  }
};

}  // namespace rollcall::objective
