// Advantage beta_norm: centred rewards over the density that pass rates have in the step.
//   A_i = (r_i - p_g) / f(p_g; alpha, beta), p_g the group's mean;  m, v mean and variance (n - 1)
//   of p over the groups, k = m (1 - m) / v - 1,
//   alpha = max(1, 1 + k m / 3), beta = max(1, 1 + k (1 - m) / 3);  1 / f at most 1e6;  r first
//   mapped from [reward_low, reward_high] to [0, 1]
//   components mean: the mean of the A of every column component/NAME, each with a density of its
//   own: accuracy and format in the paper
// Source: BNPO, arXiv:2506.02864, section 4; map and decomposition as in its bnpo_ray_trainer.py.
// Shapes: [B] -> [N].   Knobs: reward_low, reward_high, components.
// What differs from group_norm: the normaliser follows the distribution of pass rates. With alpha =
//   beta = 1 it is group_center, with 3/2 it is group_norm up to a constant. Pass rates are clipped
//   to [0, 1]. Groups without tokens do not count in the moments. With fewer than two groups, or
//   with equal pass rates, alpha = beta = 1. A group of one keeps its plain reward.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::objective {

struct BetaNorm {
  static constexpr std::string_view
      name = "beta_norm",
      formula = "A_i = (r_i - p_g) / BetaDensity(p_g; alpha, beta), fitted to the step's p";

  enum class Components { sum, mean };
  double low = 0.0, high = 1.0;
  Components components = Components::sum;

  void bind(Knobs& knobs) {
    knobs.number("reward_low", low, {-1e6, 1e6}, "smallest reward the verifier gives");
    knobs.number("reward_high", high, {-1e6, 1e6}, "largest reward it gives");
    knobs.reward_use.takes_largest([this] { return components == Components::sum; },
                                   [this] { return high; }, "reward_high");
    knobs.choice("components", components, {"sum", "mean"},
                 "one density for the reward, or one a component and the mean of their advantages");
    knobs.reward_use.reads_components(
        [this](const std::string&) { return components == Components::mean; });
    knobs.reward_use.trains_on(
        "the verifier's components, each by itself (advantage.components is mean)",
        [this] { return components == Components::mean; }, mean_component);
    knobs.refuse_if([this] { return high <= low; },
                    "advantage.reward_high is not above advantage.reward_low",
                    "rewards are mapped from there to [0, 1]", "use 0 and 1");
  }

  at::Tensor operator()(const Step& step) const {
    if (components == Components::sum) return of(step, step.reward);
    at::Tensor sum;
    double count = 0;
    for (const auto& [key, values] : step.columns.named) {
      if (key.starts_with("component/"))
        sum = count++ == 0 ? of(step, values) : sum + of(step, values);
    }
    return count > 0 ? sum / count : of(step, step.reward);
  }

  /// [B] mean of the components, or the reward if the step has none.
  static at::Tensor mean_component(const Step& step) {
    at::Tensor sum;
    double count = 0;
    for (const auto& [key, values] : step.columns.named) {
      if (key.starts_with("component/")) sum = count++ == 0 ? values : sum + values;
    }
    return count > 0 ? sum / count : step.reward;
  }

  at::Tensor of(const Step& step, const at::Tensor& plain) const {
    const at::Tensor reward = (plain - low) / (high - low);
    const at::Tensor rate = step.shape.group_mean(reward).clamp(0.0, 1.0),
                     counted = (step.shape.group_sum(step.shape.length) > 0).to(at::kDouble);
    const auto [alpha, beta] = fit(rate, counted);
    const at::Tensor log_density =
        (alpha - 1) * rate.clamp_min(1e-12).log() + (beta - 1) * (1 - rate).clamp_min(1e-12).log() +
        std::lgamma(alpha + beta) - std::lgamma(alpha) - std::lgamma(beta);
    const at::Tensor factor = at::where(step.shape.group_size > 1,
                                        log_density.neg().clamp(-600.0, std::log(1e6)).exp(), 1.0);
    const at::Tensor baseline =
        step.shape.over_rollouts(step.shape.group_mean(reward) * (step.shape.group_size > 1));
    return step.shape.over_tokens((reward - baseline) * step.shape.over_rollouts(factor));
  }

  /// alpha and beta from the moments of the pass rates.
  static std::pair<double, double> fit(const at::Tensor& rate, const at::Tensor& counted) {
    const double count = counted.sum().item<double>();
    if (count < 2) return {1.0, 1.0};
    const double mean = (rate * counted).sum().item<double>() / count;
    const double variance = ((rate - mean).square() * counted).sum().item<double>() / (count - 1);
    if (variance < 1e-12) return {1.0, 1.0};
    const double k = mean * (1 - mean) / variance - 1;
    return {std::max(1.0, 1 + k * mean / 3), std::max(1.0, 1 + k * (1 - mean) / 3)};
  }
};

}  // namespace rollcall::objective
