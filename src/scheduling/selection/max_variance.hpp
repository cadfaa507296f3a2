// The selection `max_variance` (PODS): of each group's n rollouts, the subset of m with the largest
// variance of rewards trains.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// m = max(2, round(keep_share * n)). PODS standardises advantages over the m rollouts that train,
/// and the objective's recipe `pods` does so (moments_of = trained). Under another recipe the
/// group's statistics are those of all n rollouts, as for every selection.
class MaxVarianceSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override {
    knobs.bind("keep_share", &share_, "share of a group's rollouts that train", {0, 1});
  }
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;

 private:
  double share_ = 0.25;  // 16 of 64, the paper's setting on GSM8K
};

}  // namespace rollcall::scheduling
