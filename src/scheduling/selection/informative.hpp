// The selection `informative`: groups whose rewards do not differ leave the step (DAPO, ScaleRL,
// DARS, ...).
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// If there are more informative groups than request.prompts, a random choice of that number
/// trains. If there are none, nothing trains and the step makes no update.
class InformativeSelection final : public Selection {
 public:
  explicit InformativeSelection(const Knowledge& knowledge) : knowledge_(&knowledge) {}
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;

 private:
  const Knowledge* knowledge_;
};

}  // namespace rollcall::scheduling
