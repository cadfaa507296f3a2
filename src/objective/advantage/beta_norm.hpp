// Advantage beta_norm: centred rewards over the density that pass rates have in the step.
//   A_i = (r_i - p_g) / f(p_g; alpha, beta), p_g the group's mean;  m, v mean and variance (n - 1) of p over the groups, k = m (1 - m) / v - 1,
//   alpha = max(1, 1 + k m / 3), beta = max(1, 1 + k (1 - m) / 3);  1 / f at most 1e6
// Source: BNPO, arXiv:2506.02864, section 4.
// Shapes: [B] -> [N].   Knobs: none.
// What differs from group_norm: the normaliser follows the distribution of pass rates; alpha = beta = 1 is group_center, 3/2 is group_norm up to
//   a constant. Rewards are meant to lie in [0, 1]. Groups without tokens leave the moments; with fewer than two groups, or equal pass
//   rates, alpha = beta = 1. A group of one keeps its plain reward.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::objective {

struct BetaNorm {
  static constexpr std::string_view name = "beta_norm", formula = "A_i = (r_i - p_g) / BetaDensity(p_g; alpha, beta), fitted to the step's p";

  at::Tensor operator()(const Step& step) const {
    const at::Tensor rate = step.group_mean(step.reward).clamp(0.0, 1.0), counted = (step.group_sum(step.length) > 0).to(at::kDouble);
    const auto [alpha, beta] = fit(rate, counted);
    const at::Tensor log_density = (alpha - 1) * rate.clamp_min(1e-12).log() + (beta - 1) * (1 - rate).clamp_min(1e-12).log() + std::lgamma(alpha + beta) -
                                   std::lgamma(alpha) - std::lgamma(beta);
    const at::Tensor factor = at::where(step.group_size > 1, log_density.neg().clamp(-600.0, std::log(1e6)).exp(), 1.0);
    return step.over_tokens((step.reward - step.baseline()) * step.over_rollouts(factor));
  }

  /// alpha and beta, by moments of the pass rates.
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
