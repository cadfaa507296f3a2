// The allocator `bin_square_root`: the square-root law of Rollout-GDRO for each difficulty bin. It
// is the oracle that the method's bandits are compared with.
#pragma once

#include "scheduling/piece.hpp"

#include <vector>

namespace rollcall::scheduling {

/// n_b = n_bar sqrt(v_b) / sum_j q_j sqrt(v_j) rollouts for each prompt of bin b (arXiv:2601.19280,
/// eq. 30). n_bar is the mean over the step's prompts, and q_j the share of these prompts in bin j.
/// v_b, the variance proxy of a bin, is the fading mean of the unbiased reward variance of its
/// groups. The allocator `square_root` applies this law to single prompts.
class BinSquareRootAllocator final : public Allocator {
 public:
  explicit BinSquareRootAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.history.use_bins();
  }
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;
  void learn(const std::vector<GroupReport>& reports) override;
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  // the state names bins and no prompts, so it also fits other prompts
  bool load_changed(const nlohmann::json& state, const PromptMap&) override {
    return load(state), true;
  }

 private:
  Knowledge* knowledge_;
  double beta_ = 0.12;            // v_b fades as fast as the scores of the prompt game
  double variance_floor_ = 0.01;  // v at p = 1 %: bins that look hopeless or solved keep a fifth of
                                  // the largest weight
  double prior_variance_ = 0.25;  // the largest variance of a 0/1 reward, so that an unknown bin
                                  // gets rollouts
  std::vector<double> variance_;  // saved state; empty before the first step
};

}  // namespace rollcall::scheduling
