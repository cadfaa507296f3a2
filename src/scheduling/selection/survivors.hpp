// The selection `survivors` (ARRoL): rollouts are dropped until the expected share of right ones comes near a target.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// q_i = GroupReport::predicted. While the mean of q lies above (below) the target and dropping the largest (smallest) q brings it nearer, and more than
/// survivors_least * n are left, that rollout is dropped; ties by index. The published target is about 1/2, the rule is inferred (arXiv:2603.24840). Without predictions everything
/// trains. Dropping after generation saves the update only; to save tokens generation has to ask while it decodes.
class SurvivorsSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  std::vector<GroupTraining> select(const StepRequest& request, const std::vector<GroupReport>& reports) override;
  std::vector<Need> needs() const override { return {{"predicted", "it drops rollouts by the success that a quality head predicts of them"}}; }

 private:
  std::vector<std::uint8_t> survive(const std::vector<double>& predicted) const;
  double target_ = 0.5, least_ = 0.25;
};

}  // namespace rollcall::scheduling
