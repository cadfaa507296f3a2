// The selection `all`: every drawn rollout trains, with weight 1.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

class SelectAll final : public Selection {
 public:
  std::vector<GroupTraining> select(const StepRequest&, const std::vector<GroupReport>&) override {
    return {};
  }
};

}  // namespace rollcall::scheduling
