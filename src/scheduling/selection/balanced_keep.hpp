// The selection `balanced_keep` (Reinforce-Ada): n rollouts of a group train, half of them right
// and half wrong, while the group's statistics are those of all its rollouts.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// n/2 right and n - n/2 wrong rollouts train. If one side has fewer, the other side fills the gap.
/// Each side takes the lowest sample numbers (arXiv:2510.04996). Baseline and spread come from all
/// rollouts of the group, because a rollout with keep = 0 still counts there. A group that is all
/// right or all wrong keeps n rollouts, whose advantages are zero.
class BalancedKeepSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override {
    knobs.bind("ada_keep", &keep_, "rollouts of a group that train", {1, 1e6});
  }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;

 private:
  std::int64_t keep_ = 4;  // the paper's n
};

}  // namespace rollcall::scheduling
