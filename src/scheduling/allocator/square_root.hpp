// The allocator `square_root`: rollouts in proportion to the standard deviation of a prompt's reward.
#pragma once

#include "scheduling/piece.hpp"
#include "scheduling/allocator/success_estimate.hpp"

namespace rollcall::scheduling {

/// n_i proportional to sqrt(v_i) minimises the summed variance sum_i v_i / n_i of the prompts' estimates at a fixed total sum_i n_i (Neyman allocation; the
/// compute-neutral optimum of arXiv:2601.19280). v_i = p_i (1 - p_i) is the variance of a 0/1 reward at the estimated success rate p_i.
class SquareRootAllocator final : public Allocator {
 public:
  SquareRootAllocator() : estimate_(knobs_) {}
  SquareRootAllocator(const SquareRootAllocator&) = delete;  // the estimate points to the knobs
  SquareRootAllocator& operator=(const SquareRootAllocator&) = delete;
  void bind(ConfigSchema& knobs) override;
  std::vector<std::int64_t> counts(const StepRequest& request, const std::vector<GroupPlan>& groups) override;
  void learn(const std::vector<GroupReport>& reports) override { estimate_.learn(reports); }
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
  bool load_changed(const nlohmann::json& state, const PromptMap& map) override;

 private:
  EstimateKnobs knobs_;
  double variance_floor_ = 0.01;  // v at p = 1 %: hopeless and solved prompts keep a fifth of the largest weight, so a level that changes is noticed
  SuccessEstimate estimate_;
};

}  // namespace rollcall::scheduling
