// The selection `extreme_advantages` (D3S): of all rollouts of the step, the subset with the
// largest variance of advantages trains.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// N = ceil(share * rollouts of the step) rollouts stay: the subset with the largest variance of A
/// = (r - mean) / std of the group. Rollouts with advantage zero are chosen last, so that a share
/// of 1 keeps every rollout. The share moves linearly with progress from share_start to share_final
/// (arXiv:2509.22115, sample level; the two numbers are settings in the paper). Rule and defaults
/// are those of the objective's weight down_sample, which is the method's usual place.
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
  double share_ = 0.0;  ///< share of the latest step's rollouts that was to stay
};

}  // namespace rollcall::scheduling
