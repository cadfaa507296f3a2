// The rounds `redraw` (VSPO): for each group whose rewards do not differ, one of the step's most
// valuable prompts is drawn again.
#pragma once

#include "scheduling/piece.hpp"

#include <algorithm>

namespace rollcall::scheduling {

/// This happens once, after the first round. For each such group, a prompt with the largest p (1 -
/// p) is drawn once more, with budget / prompts rollouts. p is the prompt's success in this step
/// (arXiv:2512.07478: a task value that balances difficulty and uncertainty; its formula is not in
/// the abstract). All prompts whose rewards differ get one draw before any gets two. A prompt gets
/// at most redraw_most draws, so that repeats do not dominate, and at most the step's max_rollouts
/// rollouts.
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
  /// A shortage if the step's bounds leave no room for a further draw, which has budget /
  /// prompts rollouts.
  std::optional<Shortage> shortage(const StepRequest& request) const override {
    return most_ > 0 ? no_room_for_more(request, request.budget / request.prompts) : std::nullopt;
  }

 private:
  std::int64_t most_ = 3;  // this project's choice
};

}  // namespace rollcall::scheduling
