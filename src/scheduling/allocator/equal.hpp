// The allocator `equal`: the budget spread evenly, what does not divide goes to the first prompts
// of the (random) order.
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
