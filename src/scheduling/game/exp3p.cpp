// Weights are stored as logarithms relative to the largest, so they do not overflow in a run of any
// length.
#include "scheduling/game/exp3p.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {

Exp3p::Exp3p(std::size_t arms, double horizon, double delta)
    : horizon_(horizon), log_weight_(arms, 0.0) {
  const auto k = double(arms);
  gamma_ = std::min(0.6, 2.0 * std::sqrt(0.6 * k * std::log(k) / horizon));
  alpha_ = 2.0 * std::sqrt(std::log(k * horizon / delta));
}

std::vector<double> Exp3p::probabilities() const {
  std::vector<double> p(arms());
  for (std::size_t j = 0; j < p.size(); ++j) p[j] = std::exp(log_weight_[j]);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x = (1.0 - gamma_) * x / sum + gamma_ / double(arms());
  return p;
}

void Exp3p::learn(std::size_t arm, double reward) {
  const auto p = probabilities();
  const auto k = double(arms());
  for (std::size_t j = 0; j < p.size(); ++j)
    log_weight_[j] +=
        gamma_ / (3.0 * k) *
        ((j == arm ? reward : 0.0) / p[j] + alpha_ / (p[j] * std::sqrt(k * horizon_)));
  const double most = *std::max_element(log_weight_.begin(), log_weight_.end());
  for (double& w : log_weight_) w -= most;
}

}  // namespace rollcall::scheduling
