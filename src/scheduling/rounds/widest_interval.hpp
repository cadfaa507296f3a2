// The rounds `widest_interval` (XRPO): a pilot round, then phases that give the rest of the budget
// to prompts where one more rollout narrows the interval of the mean reward most.
#pragma once

#include "scheduling/piece.hpp"

namespace rollcall::scheduling {

/// The half-width of the 95 % interval of a group's mean reward is h(n) = t(0.975, n - 1) s /
/// sqrt(n). Rollouts go one by one to the prompt with the largest h(n) - h(n + 1) + bonus *
/// sqrt(log(1 + T) / n), where T is the number of the step's rollouts so far (arXiv:2510.06672;
/// `bonus` and T are inferred).
class WidestIntervalRounds final : public Rounds {
 public:
  void bind(ConfigSchema& knobs) override;
  bool hears_rewards() const override { return true; }
  std::optional<Shortage> shortage(const StepRequest& request) const override;
  StepRequest first(const StepRequest& request) const override;
  bool looks() const override { return true; }
  std::int64_t most_rounds() const override { return 1 + phases_; }
  Decision next(const StepRequest& request, std::uint32_t round,
                const std::vector<GroupReport>& pool, Sampler& sampler) override;

 private:
  std::int64_t pilot_ = 4, phases_ = 2;
  double bonus_ = 0.1;
};

}  // namespace rollcall::scheduling
