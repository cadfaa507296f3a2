// The rounds `prior_test` (V_0.5): prompts whose first rollouts contradict the value prior get more
// rollouts, one per round.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// On rewards -1 and 1, V = 2 p - 1 with p = Knowledge::predicted(): the frozen PromptTable::prior,
/// which no result changes. After k rollouts with mean m, D = max(0, (m - V)^2 - 1/k), and the risk
/// of the fused baseline is MSE(k) = D / (D k + 1). The prompt gets one more rollout while
/// MSE(k) - MSE(k + 1) > rollout_cost (arXiv:2603.10848). k starts at the first round's size. It
/// stops after prior_rounds more rollouts, or at the step's max_rollouts.
class PriorTestRounds final : public Rounds {
 public:
  explicit PriorTestRounds(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.use_success();
  }
  void bind(ConfigSchema& knobs) override;
  bool looks() const override { return rounds_ > 0; }
  std::int64_t most_rounds() const override { return 1 + rounds_; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return rounds_ == 0; }
  std::int64_t hard_cap(const StepRequest& request) const override;
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return looks() ? no_room_for_more(request, 1) : std::nullopt;
  }
  /// Mean and prior are on the scale -1 .. 1.
  bool wants_more(double k, double mean, double prior) const;

 private:
  const Knowledge* knowledge_;
  std::int64_t rounds_ = 12;  // from the paper's k_init 4 to its k_max 16
  double cost_ = 0.0039;
};

}  // namespace rollcall::scheduling
