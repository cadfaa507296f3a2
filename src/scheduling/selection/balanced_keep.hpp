// The selection `balanced_keep` (Reinforce-Ada): n rollouts of a group train, half right and half
// wrong; the whole group is in its statistics.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// n/2 right ones, the rest wrong; a short side is topped up from the other; the first ones by
/// sample number (arXiv:2510.04996). Baseline and spread come from all rollouts of the group, as
/// keep = 0 says. A group that came out all right or all wrong keeps n; its advantages are zero.
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
