// The rounds `redraw` (VSPO): groups whose rewards do not differ are made up for by further
// rollouts of the step's own most valuable prompts.
#pragma once

#include "scheduling/piece.hpp"

#include <algorithm>

namespace rollcall::scheduling {

/// Once, after the first round: for each group whose rewards do not differ, one more draw of budget
/// / prompts rollouts of the prompts of largest p (1 - p), p the success just seen
/// (arXiv:2512.07478: a task value that balances difficulty and uncertainty; its formula is not in
/// the abstract). All prompts whose rewards differ get one draw before any gets two, and none gets
/// more than redraw_most, so that repeats do not dominate, nor more rollouts than the step's
/// max_rollouts.
class RedrawRounds final : public Rounds {
 public:
  void bind(ConfigSchema& knobs) override {
    knobs.bind("redraw_most", &most_, "further draws of a prompt at most", {0, 1e6});
  }
  bool hears_rewards() const override { return true; }
  bool looks() const override { return true; }
  std::int64_t most_rounds() const override { return 2; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;
  bool exact_total() const override { return false; }
  std::int64_t hard_cap(const StepRequest& request) const override {
    return std::min(2 * request.budget, request.max_rollouts * request.prompts);
  }
  /// A draw is a whole group.
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return most_ > 0 ? no_room_for_more(request, request.budget / request.prompts) : std::nullopt;
  }

 private:
  std::int64_t most_ = 3;  // ours
};

}  // namespace rollcall::scheduling
