// The rounds `refill`: groups that teach nothing are replaced by groups of new prompts until the
// step is full (DAPO, DLER, GRESO).
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// After each round, missing = prompts - groups that teach (LearningSignals::teaches: the
/// informative ones, unless left_out says otherwise). The next round draws min(prompts,
/// ceil(missing)) new prompts or, with refill_margin m > 0, min(prompts, ceil(m * missing / share
/// of such groups so far)) (GRESO's adaptive batch size). The step ends when nothing is missing,
/// after refill_rounds rounds in all, when no prompt is left, or when refill_rounds budgets are
/// spent.
class RefillRounds final : public Rounds {
 public:
  explicit RefillRounds(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.signals.use_teaching();
  }
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  bool looks() const override { return rounds_ > 1; }
  std::int64_t most_rounds() const override { return rounds_; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return rounds_ == 1; }
  std::int64_t hard_cap(const StepRequest& request) const override {
    return rounds_ * request.budget;
  }

 private:
  const Knowledge* knowledge_;
  std::int64_t rounds_ = 10;  // max_num_gen_batches of the paper's launchers
  double margin_ = 0.0;
};

}  // namespace rollcall::scheduling
