// The selection `survivors` (ARRoL): each rollout survives with a chance that falls with its
// predicted success, so that a given share of the step trains on average.
#pragma once

#include "scheduling/piece.hpp"
#include "scheduling/prompts/knowledge.hpp"

namespace rollcall::scheduling {

/// With q_i = GroupReport::predicted, p_i = clip(share + delta + slope (target - q_i), 0.1, 0.9),
/// where delta makes the mean of p over the step's rollouts equal to the share. Rollout i trains
/// with chance p_i, by a random number at its own address. A group that would lose all rollouts
/// keeps the one with the largest p. Share, target, slope and bounds come from a summary of the
/// paper (arXiv:2603.24840). Without predictions everything trains. Dropping rollouts after
/// generation saves time in the update only.
class SurvivorsSelection final : public Selection {
 public:
  explicit SurvivorsSelection(const Knowledge& knowledge) : knowledge_(&knowledge) {}
  void bind(ConfigSchema& knobs) override;
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;
  std::vector<Need> needs() const override {
    return {{"predicted", "it drops rollouts by the success that a quality head predicts of them"}};
  }

 private:
  const Knowledge* knowledge_;
  double target_ = 0.5, share_ = 0.5, slope_ = 0.5;
};

}  // namespace rollcall::scheduling
