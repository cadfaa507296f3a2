// The allocator `square_root`: rollouts in proportion to the standard deviation of a prompt's
// reward.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// n_i proportional to sqrt(v_i) minimises the summed variance sum_i v_i / n_i of the prompts'
/// estimates at a fixed total sum_i n_i (Neyman allocation; the compute-neutral optimum of
/// arXiv:2601.19280). v_i = p_i (1 - p_i) is the variance of a 0/1 reward at the estimated success
/// rate p_i.
class SquareRootAllocator final : public Allocator {
 public:
  explicit SquareRootAllocator(Knowledge& knowledge) : knowledge_(&knowledge) {
    knowledge.use_success();
  }
  void bind(ConfigSchema& knobs) override;
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;

 private:
  const Knowledge* knowledge_;
  double variance_floor_ = 0.01;  // v at p = 1 %: hopeless and solved prompts keep a fifth of the
                                  // largest weight, so that a change of their level is noticed
};

}  // namespace rollcall::scheduling
