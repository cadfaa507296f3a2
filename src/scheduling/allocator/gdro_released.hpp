// The allocator `gdro_released`: Rollout-GDRO as the released code of arXiv:2601.19280 means it to
// work (github.com/kishanpb/verl-gdro, commit b391899).
#pragma once

#include "scheduling/game/arm_table.hpp"
#include "scheduling/game/prompt_game.hpp"
#include "scheduling/piece.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Every bin keeps a sum for each of the K counts, s_b(n) <- s_b(n) + mean loss after a step
/// that played n. A count has the probability p_b(n) = (1 - gamma) exp(eta s_b(n)) / sum + gamma /
/// K. A step plays the jointly most probable counts that meet the budget exactly, and only such
/// counts change the sums. If no combination meets the budget, every prompt gets `least_arm`
/// rollouts, and the rest is spread in proportion to the chance q of the prompt's bin (eq. 15 over
/// the bins of the step), by largest remainders. METHODS.md says which parts of the released code
/// are kept, among them the sign of the loss.
class ReleasedGdroAllocator final : public Allocator {
 public:
  explicit ReleasedGdroAllocator(Knowledge& knowledge);
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return no_room_to_differ(request, table_.least(), table_.most());
  }
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  // the state names bins and no prompts, so it also fits other prompts
  bool load_changed(const nlohmann::json& state, const PromptMap&) override {
    return load(state), true;
  }
  std::vector<std::pair<std::string, double>> metrics() const override { return table_.metrics(); }
  /// [arms] p_b(n), the chance of each count in the bin
  std::vector<double> probabilities(std::size_t bin) const;

 private:
  std::vector<std::int64_t> by_share(const StepRequest& request, const StepBins& bins) const;

  Knowledge* knowledge_;
  PromptGame game_;                   // saved state: the bins' scores; p_b takes its eta and gamma
  ArmTable table_;                    // saved state: s_b(n)
  std::vector<std::int64_t> played_;  // [bins] counts of the open step, 0: nothing to learn from;
                                      // empty between steps
};

}  // namespace rollcall::scheduling
