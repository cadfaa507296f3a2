// The selection `extreme_advantages` (D3S): over the whole step the rollouts whose advantages vary most train.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// Rollouts of advantage zero go first; of the others N = round(share * rollouts of the step) with the largest variance of A = (r - mean) / std of the group stay,
/// share moving linearly with progress from share_start to share_final (arXiv:2509.22115, sample level; the two numbers are settings in the paper, the defaults are inferred).
/// Nothing differs anywhere: everything trains.
class ExtremeAdvantagesSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  std::vector<GroupTraining> select(const StepRequest& request, const std::vector<GroupReport>& reports) override;

 private:
  double start_ = 0.25, final_ = 0.75;
};

}  // namespace rollcall::scheduling
