// The allocator `equal`: the budget spread evenly, what does not divide goes to the first prompts of the (random) order.
#pragma once

#include "scheduling/allocator/allocator.hpp"

namespace rollcall::scheduling {

class EqualAllocator final : public Allocator {
 public:
  void bind(ConfigSchema&) override {}
  std::vector<std::int64_t> counts(const StepRequest& request, const std::vector<GroupPlan>& groups) const override;
  void learn(const std::vector<GroupReport>&) override {}
  nlohmann::json save() const override;
  void load(const nlohmann::json& state) override;
};

}  // namespace rollcall::scheduling
