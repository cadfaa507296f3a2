// The allocator `equal`: every prompt gets the same number of rollouts. If the budget does not
// divide evenly, the first prompts of the (random) order get one more each.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

class EqualAllocator final : public Allocator {
 public:
  std::optional<Shortage> shortage(const StepRequest&) const override { return std::nullopt; }
  std::vector<std::int64_t> counts(const StepRequest& request,
                                   const std::vector<GroupPlan>& groups) override;
};

}  // namespace rollcall::scheduling
