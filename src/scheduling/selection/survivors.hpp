// The selection `survivors` (ARRoL): a fixed share of each group stays, the expected share of right ones in it as near to a target as it gets.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// q_i = GroupReport::predicted. Until ceil(survivors_share * n) rollouts are left, the one of largest q is dropped where the mean of q lies above the target, else
/// the one of smallest; ties by index. Share and target are the paper's (arXiv:2603.24840), the order of dropping is inferred. Without predictions everything
/// trains. Dropping after generation saves the update only; to save tokens generation has to ask while it decodes.
class SurvivorsSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  std::vector<GroupTraining> select(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  std::vector<Need> needs() const override { return {{"predicted", "it drops rollouts by the success that a quality head predicts of them"}}; }

 private:
  std::vector<std::uint8_t> survive(const std::vector<double>& predicted) const;
  double target_ = 0.5, share_ = 0.5;
};

}  // namespace rollcall::scheduling
