// The selection `informative`: groups that teach nothing, because their rewards do not differ,
// leave the step (DAPO, ScaleRL, DARS, ...).
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// If more groups teach (LearningSignals::teaches) than request.prompts, a random choice of that
/// number trains. If none does, nothing trains and the step makes no update.
class InformativeSelection final : public Selection {
 public:
  explicit InformativeSelection(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.signals.use_teaching();
  }
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
