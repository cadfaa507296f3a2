// The allocator `gdro`: Rollout-GDRO with the bins' rollout counts drawn jointly at the exact
// budget (the game of arXiv:2601.19280, section 3.3, with another algorithm).
#pragma once

#include "scheduling/game/arm_table.hpp"
#include "scheduling/game/budgeted_arms.hpp"
#include "scheduling/piece.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Maximises sum_b q(b) J_b(n_b) at sum_b q(b) n_b = n_bar (eq. 19) by exponential weights over the
/// bins' counts. J_b(n) is the gain of n rollouts (ArmSignal), and n_bar the budget per prompt. All
/// bins draw their counts together, given the budget, from
///   (1 - g) Q_w + g Q_u,  Q_w ~ prod_b exp(x_b L_b(n_b)), Q_u uniform, x_b the bin's share of the
///   step's prompts relative to the mean bin.
/// A prompt's n rollouts show what fewer rollouts would have been worth, so playing an arm (a
/// count) also teaches about all arms below it. With D_b(a) the mean of J(a) - J(a - 1) over the
/// bin's groups, N_b the count that bin b draws, and c = kLeastChance of gdro.cpp,
///   L_b(a) <- (1 - fade) L_b(a) + rate sum_{a' <= min(a, n_b)} D_b(a') / (P(N_b >= a') + c).
/// Differences within a group need no baseline. METHODS.md gives all details.
class GdroAllocator final : public Allocator {
 public:
  explicit GdroAllocator(Knowledge& knowledge);
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
  std::vector<std::pair<std::string, double>> metrics() const override;
  /// L_b(n), the log-weight of `count` in the bin
  double log_weight(std::size_t bin, std::int64_t count) const { return table_.at(bin, count); }

 private:
  /// The arm that a bin was given in the open step.
  struct Play {
    std::int64_t count = 0;         // rollouts of its arm; 0: no arm was played, nothing is learned
    double share = 0.0;             // x_b: share of the step's prompts, relative to the mean bin
    std::vector<double> reached{};  // [arms] chance that the bin plays this arm or a larger one
  };
  std::vector<double> weights(std::size_t bin, std::int64_t low, std::size_t size,
                              double price) const;
  double price(const std::vector<BudgetedArms::Bin>& bins, const std::vector<std::size_t>& bin,
               std::int64_t low, const StepRequest& request) const;
  bool play(const StepRequest& request, const std::vector<std::int64_t>& prompts);

  Knowledge* knowledge_;
  ArmTable table_;                     // saved state: L_b(n)
  double rate_ = 0.25, fade_ = 0.002;  // chosen by measurements (benchmarks/README.md)
  double explore_ = 0.05;              // g, the chance of a uniform draw
  double slack_ = 0.05;                // largest distance of a step's total from its budget, as a
                                       // share of the budget
  std::vector<Play> plays_;            // [bins] of the open step; empty between steps
  std::int64_t repaired_ = 0;
};

}  // namespace rollcall::scheduling
