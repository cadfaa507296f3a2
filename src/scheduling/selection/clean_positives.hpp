// The selection `clean_positives` (rStar2-Agent): of each group's rollouts a share trains: wrong
// ones as they come, right ones by how clean they are.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// m = round(clean_share n), wrong and right ones in proportion (halves to even) but at least
/// clean_least of each kind where there are as many. Wrong ones by sample number: a uniform choice.
/// Right ones by largest reward, so that what a reward takes from a right answer (a missing format,
/// length) makes it unclean; equal ones by sample number. Groups whose rewards do not differ leave
/// the step (arXiv:2508.20722 and its released code, which adds the share of tool calls that fail
/// to the penalty). Where none differ, nothing trains.
class CleanPositivesSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;
  std::vector<std::uint8_t> choose(const GroupReport& report) const;  ///< [n]

 private:
  double share_ = 0.5;      // 16 of 32
  std::int64_t least_ = 2;  // of each kind
};

}  // namespace rollcall::scheduling
