// The selection `survivors` (ARRoL): each rollout survives by chance, the less likely the more
// probably it is right, and a share of the step in all.
#pragma once

#include "scheduling/piece.hpp"
#include "scheduling/prompts/knowledge.hpp"

namespace rollcall::scheduling {

/// q_i = GroupReport::predicted. p_i = clip(share + delta + slope (target - q_i), 0.1, 0.9), delta
/// such that the mean of p over the step's rollouts is the share; rollout i trains with chance p_i,
/// drawn by its address. Of a group that would lose all, the one of largest p stays. Share, target
/// and slope are the paper's (arXiv:2603.24840, by a summary of it), the bounds are a summary's
/// too. Without predictions everything trains. Dropping after generation saves the update only.
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
