// EXP3.P, a bandit that has a small regret with high probability (Auer, Cesa-Bianchi, Freund and
// Schapire 2002, section 6).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// There are K arms. Arm i was played and has paid x in [0, 1]:
///   p_j = (1 - gamma) w_j / sum w + gamma / K
///   w_j <- w_j exp(gamma / (3 K) (x [j = i] / p_j + alpha / (p_j sqrt(K T))))
/// with gamma = min(3/5, 2 sqrt(3/5 K ln K / T)) and alpha = 2 sqrt(ln(K T / delta)) of their
/// Theorem 6.3 for T rounds. Their common starting weight cancels.
class Exp3p {
 public:
  Exp3p() = default;
  Exp3p(std::size_t arms, double horizon, double delta);
  std::vector<double> probabilities() const;
  void learn(std::size_t arm, double reward);
  std::size_t arms() const { return log_weight_.size(); }
  double exploration() const { return gamma_; }
  /// The state: log weights relative to the largest.
  const std::vector<double>& log_weights() const { return log_weight_; }
  void restore(std::vector<double> log_weights) { log_weight_ = std::move(log_weights); }

 private:
  double gamma_ = 0.0, alpha_ = 0.0, horizon_ = 1.0;
  std::vector<double> log_weight_;
};

}  // namespace rollcall::scheduling
