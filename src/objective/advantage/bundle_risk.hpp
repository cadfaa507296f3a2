// Advantage bundle_risk: a risk measure of bundles of prompts, shared out to their rollouts.
//   A bundle's paper takes one rollout of each of its prompts; S = sum of their rewards.  rvar =
//   (max(S-lo,0) - max(S-hi,0) [+ lo - hi]) / (u - l);
//   cvar = -max(lo - S, 0) / l;  R = (w cvar + rvar) / (w + 1) / s, s the spread of S in the bundle
//   (n - 1) + 1e-6
//   A_i = R (r_i - mean_g) / sum_paper (r - mean_g), or R / size where that sum is 0
//   lo <- lo + lr (l - share of S < lo), hi likewise with u: moving quantiles of S
// Source: RiskPO, arXiv:2510.00911, section 4 (l 0.2, u 0.8, w 1.5, bundles of 5, lr 0.1; released
//   scripts: no natural baseline, and the division by the spread, norm_adv_by_std_in_grpo). A
//   bundle of one paper, or of papers that are all alike, divides by 1. For the latter the released
//   code divides by 1e-6.
// Shapes: [B] -> [N].   Knobs: risk_low, risk_high, risk_weight, risk_rate, bundle_size,
//   natural_baseline.
// What differs from group_center: papers with a high score push nothing, and papers in the lower
//   tail push most. Random numbers addressed by rollout decide which prompts share a bundle. Groups
//   without tokens belong to no bundle. Both quantiles start at level * bundle_size.
#pragma once

#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"
#include "objective/selection.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::objective {

struct BundleRisk {
  static constexpr std::string_view
      name = "bundle_risk",
      formula = "A_i = mixed VaR of the bundle's score, shared by r_i - mean_g";
  enum class Natural { no, yes };
  double low = 0.2, high = 0.8, weight = 1.5, rate = 0.1, size = 5.0;
  Natural natural = Natural::no;

  void bind(Knobs& knobs) {
    knobs.number("risk_low", low, {1e-6, 1.0}, "level l of the lower quantile");
    knobs.number("risk_high", high, {1e-6, 1.0}, "level u of the upper quantile");
    knobs.number("risk_weight", weight, {0.0, 1e6}, "weight w of the lower tail");
    knobs.number("risk_rate", rate, {0.0, 1e6}, "step size of the moving quantiles");
    knobs.number("bundle_size", size, {1.0, 1e6}, "prompts of a bundle");
    knobs.choice("natural_baseline", natural, {"no", "yes"},
                 "whether lo - hi is added: no paper is above 0");
    knobs.moves("risk_low",
                [this](const Step& step) { return step.statistic("risk_low", low * size); });
    knobs.moves("risk_high",
                [this](const Step& step) { return step.statistic("risk_high", high * size); });
    knobs.refuse_if([this] { return high <= low; },
                    "advantage.risk_high is not above advantage.risk_low",
                    "the middle range would be empty", "use 0.2 and 0.8");
  }

  Advantage operator()(const Step& step) const {
    const double lo = step.statistic("risk_low", low * size),
                 hi = step.statistic("risk_high", high * size);
    at::Tensor a = at::zeros({step.shape.rollouts}, at::kDouble);
    auto out = a.accessor<double, 1>();
    const at::Tensor centred =
        step.reward - step.shape.over_rollouts(step.shape.group_mean(step.reward));
    const auto reward = step.reward.accessor<double, 1>(), lead = centred.accessor<double, 1>();
    double papers = 0, below_lo = 0, below_hi = 0;
    for (const Papers& bundle :
         bundled(step.uniform_rollouts(11), step.shape.group_sum(step.shape.length),
                 step.shape.group_begin(), std::size_t(size))) {
      std::vector<double> scores;
      for (const auto& paper : bundle) {
        scores.push_back(0.0);
        for (const auto i : paper) scores.back() += reward[i];
      }
      const double scale = spread(scores);
      for (std::size_t k = 0; k < bundle.size(); ++k) {
        double leads = 0;
        for (const auto i : bundle[k]) leads += lead[i];
        papers += 1, below_lo += is_below(scores[k], lo), below_hi += is_below(scores[k], hi);
        for (const auto i : bundle[k])
          out[i] = risk(scores[k], lo, hi) / scale *
                   (differ(scores[k], scores[k] - leads) ? lead[i] / leads
                                                         : 1.0 / double(bundle[k].size()));
      }
    }
    Advantage shared(step.shape.over_tokens(a));
    if (papers > 0)
      shared.statistics = {{"risk_low", lo + rate * (low - below_lo / papers)},
                           {"risk_high", hi + rate * (high - below_hi / papers)}};
    return shared;
  }

  /// Standard deviation of a bundle's scores; 1 if all are equal.
  static double spread(const std::vector<double>& scores) {
    double mean = 0, square = 0;
    for (const double s : scores) mean += s / double(scores.size());
    for (const double s : scores) square += (s - mean) * (s - mean);
    const double deviation =
        scores.size() > 1 ? std::sqrt(square / double(scores.size() - 1)) : 0.0;
    return differ(scores) ? deviation + 1e-6 : 1.0;
  }

  static bool is_below(double score, double level) { return score < level && differ(score, level); }

  double risk(double score, double lo, double hi) const {
    const double middle = std::max(score - lo, 0.0) - std::max(score - hi, 0.0) +
                          (natural == Natural::yes ? lo - hi : 0.0);
    return (weight * -std::max(lo - score, 0.0) / low + middle / (high - low)) / (weight + 1.0);
  }
};

}  // namespace rollcall::objective
