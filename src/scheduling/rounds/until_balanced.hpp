// The rounds `until_balanced` (Reinforce-Ada): every prompt gets M more rollouts per round until
// enough of them are right and enough are wrong.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// M is the size of the group in the first round. With `balanced`, a prompt is done when it has n/2
/// right and n - n/2 wrong rollouts. With `positive`, it is done when it has a right one. In both
/// cases it stops after ada_rounds rounds or at the step's max_rollouts (arXiv:2510.04996). n is
/// ada_enough; the selection `balanced_keep` keeps the same number.
class UntilBalancedRounds final : public Rounds {
 public:
  void bind(ConfigSchema& knobs) override;
  bool looks() const override { return rounds_ > 1; }
  std::int64_t most_rounds() const override { return rounds_; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return rounds_ == 1; }
  std::int64_t hard_cap(const StepRequest& request) const override;
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return looks() ? no_room_for_more(request, 1) : std::nullopt;
  }

 private:
  bool done(const GroupReport& group) const;
  std::int64_t rounds_ = 4, keep_ = 4;  // the paper's R and n
  std::string until_ = "balanced";
};

}  // namespace rollcall::scheduling
