// The allocator `gdro_paper`: Rollout-GDRO as its paper states it, with an EXP3.P bandit for each
// difficulty bin and a shadow price (arXiv:2601.19280, section 3.3).
#pragma once

#include "scheduling/game/arm_table.hpp"
#include "scheduling/game/exp3p.hpp"
#include "scheduling/game/joint_arms.hpp"
#include "scheduling/piece.hpp"

#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// The price after a step with the mean count n and a budget of n_bar per prompt (eq. 21).
inline double shadow_price(double mu, double alpha, double n, double n_bar) {
  return mu + alpha * (n - n_bar);
}

/// Penalised loss of n rollouts in bin b: L_b(n) = -J_b(n) + mu n (eq. 18, 20). Every bin plays an
/// EXP3.P over the arms, with EXP3.P's own constants and exploration. A dynamic program takes the
/// arms that are jointly most probable and meet the budget exactly. If no combination meets it,
/// the nearest combination is completed by largest remainders. The price follows mu <- mu + alpha
/// (n_realised - n_bar) (eq. 21), where n_realised is the mean count of the arms, so mu stays where
/// it is while the arms meet the budget.
class PaperGdroAllocator final : public Allocator {
 public:
  explicit PaperGdroAllocator(Knowledge& knowledge);
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
  double price() const { return price_; }
  std::vector<double> probabilities(std::size_t bin) const;  ///< [arms] of one bin's bandit

 private:
  Exp3p bandit(std::size_t bin) const;
  std::vector<double> drawn_scores(std::uint64_t step, std::size_t bin) const;
  double reward(double gain, std::int64_t count) const;

  Knowledge* knowledge_;
  ArmTable table_;               // saved state: log weights of the bandits
  std::int64_t horizon_ = 1000;  // rounds T of EXP3.P: the steps of the released launchers
  double delta_ = 0.05;          // the bound on the regret holds with probability 1 - delta
  double price_rate_ = 0.05;     // alpha; the released code's dual learning rate
  double draw_ = 0.0;            // factor on the Gumbel noise; 0: the most probable arms, as in the
                                 // paper's text
  double score_cap_ = 3.0;       // bound on a surrogate loss, which has no natural range; this
                                 // project's choice
  double excess_ = 0.0;          // n_realised - n_bar of the open step
  double price_ = 0.0;           // saved state: mu, the price of a rollout
  std::int64_t clipped_ = 0;     // bins whose gain was outside the signal's range in the last step
                                 // learned; their bandits were given the nearest end of that range
};

}  // namespace rollcall::scheduling
