// The samplers `bandit_softmax` (SEC), `bandit_epsilon`, `bandit_ucb` and `bandit_thompson`:
// bandits whose arms pay the mean absolute advantage of their groups.
#pragma once

#include "scheduling/sampler/arms.hpp"

namespace rollcall::scheduling {

/// The pay of a group is GroupReport::mean_abs_advantage or, if no stage measured it,
/// 2 sqrt(p (1 - p)), its value for standardised binary rewards. Rules:
///   softmax   P(c) ~ exp(Q_c / temperature) with Q_c <- (1 - rate) Q_c + rate * mean pay, where
///             the pay of an arm without a group is 0 (arXiv:2505.14970 and its published code)
///   epsilon   the arm with the largest mean pay, or with chance epsilon any arm (Sutton and Barto
///             2018, section 2.2)
///   ucb       the arm with the largest mean pay + width sqrt(log N / n) (discounted UCB, Garivier
///             and Moulines 2011); places that are filled in this step count in n and N
///   thompson  the arm with the largest draw from Beta(1 + pay won, 1 + pay missed), with pay
///             capped at 1 (Agrawal and Goyal 2012, discounted)
/// Mean pay and n are multiplied by `discount` in each step, because the policy changes.
class BanditSampler final : public ArmSampler {
 public:
  enum class Rule { softmax, epsilon, ucb, thompson };
  BanditSampler(Knowledge& knowledge, Rule rule);
  void bind(ConfigSchema& knobs) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  /// Metrics named bandit/value/<arm>, and bandit/clipped_pay if pay was capped in the last step
  /// learned: the number of such groups.
  std::vector<std::pair<std::string, double>> metrics() const override;

 private:
  struct Arm {
    double value = 0.0, won = 0.0, tried = 0.0;
  };
  std::vector<double> chances(const StepRequest& request,
                              const std::vector<std::int64_t>& pulled) override;
  void observe(const std::vector<std::vector<const GroupReport*>>& by_arm) override;
  double worth(std::size_t arm, double tries, double all_tries) const;
  Rule rule_;
  double rate_ = 0.5, temperature_ = 1.0;                // the paper's, on the task Countdown
  double epsilon_ = 0.1, width_ = 1.0, discount_ = 0.9;  // a discount of 0.9 is a memory of 10
                                                         // steps, as in the success estimate
  bool absent_decays_ = true;                            // an arm without a group has paid 0, as in
                                                         // the published code
  std::vector<Arm> arms_known_;                          // saved state
  std::int64_t clipped_ = 0;                             // groups that paid more than a Beta's 1
};

}  // namespace rollcall::scheduling
