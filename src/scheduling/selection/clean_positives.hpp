// The selection `clean_positives` (rStar2-Agent): a share of each group's rollouts trains. Wrong
// ones are taken in order, and right ones by how clean they are.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// m = round(clean_share n) rollouts train. Wrong and right ones are taken in proportion (halves
/// round to even), but at least clean_least of each kind if there are enough. If the proportional
/// part of neither kind reaches clean_least, all rollouts train. Wrong ones are taken by sample
/// number, which is a uniform choice. Right ones are taken by the largest reward, so a right answer
/// is unclean if its reward is reduced (for its format or length); ties go by sample number. Groups
/// whose rewards do not differ leave the step (arXiv:2508.20722 and its released code, which adds
/// the share of failed tool calls to the penalty). If no group has differing rewards, nothing
/// trains.
class CleanPositivesSelection final : public Selection {
 public:
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::vector<GroupTraining> select(const StepRequest& request,
                                    const std::vector<GroupReport>& reports) override;
  std::vector<std::uint8_t> choose(const GroupReport& report) const;  ///< [n] 1 for rollouts that
                                                                      ///< train, else 0

 private:
  double share_ = 0.5;      // the paper trains on 16 of 32 rollouts
  std::int64_t least_ = 2;  // rollouts of each kind
};

}  // namespace rollcall::scheduling
