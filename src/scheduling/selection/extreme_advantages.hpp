// The selection `extreme_advantages` (D3S): over the whole step the rollouts whose advantages vary
// most train.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// The N = ceil(share * rollouts of the step) with the largest variance of A = (r - mean) / std of
/// the group stay; rollouts of advantage zero come last, so they leave only beyond N, and a share
/// of 1 keeps every rollout. The share moves linearly with progress from share_start to share_final
/// (arXiv:2509.22115, sample level; the two numbers are settings in the paper). Rule and defaults
/// are those of the objective's weight down_sample, the method's home.
class ExtremeAdvantagesSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;
  std::vector<std::pair<std::string, double>> metrics() const override {
    return {{"moving/trained_share", share_}};
  }

 private:
  double start_ = 0.25, final_ = 0.5;
  double share_ = 0.0;  ///< of the latest step
};

}  // namespace rollcall::scheduling
