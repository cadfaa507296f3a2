// Compares the fall of the fused baseline's risk with the cost of a rollout.
#include "scheduling/rounds/prior_test.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>

namespace rollcall::scheduling {

void PriorTestRounds::bind(ConfigSchema& s) {
  s.bind("prior_rounds", &rounds_, "further rounds at most, one rollout a prompt each", {0, 1000});
  s.bind("rollout_cost", &cost_,
         "least fall of the baseline's mean squared error that a rollout must promise", {0, 1e6});
}

bool PriorTestRounds::wants_more(double k, double mean, double prior) const {
  const double excess = std::max(0.0, (mean - prior) * (mean - prior) - 1.0 / k);
  return excess / (excess * k + 1.0) - excess / (excess * (k + 1.0) + 1.0) > cost_;
}

std::int64_t PriorTestRounds::hard_cap(const StepRequest& request) const {
  return std::min(request.budget + rounds_ * request.prompts,
                  request.max_rollouts * request.prompts);
}

Decision PriorTestRounds::next(const StepRequest& request, std::uint32_t round,
                               const std::vector<GroupReport>& pool, Sampler&) {
  Decision decision{.groups = {}, .last_round = std::int64_t(round) >= rounds_};
  for (const GroupReport& group : pool) {
    const std::int64_t have = drawn(group);
    // A group that was left out of a round stays out, because it still has the same rollouts.
    const bool more = have < request.max_rollouts &&
                      wants_more(double(group.correct.size()), 2.0 * success(group) - 1.0,
                                 2.0 * knowledge_->predicted(request.step, group.id.prompt) - 1.0);
    if (more) decision.groups.push_back({group.id, group.level, std::uint32_t(have), 1});
  }
  return decision;
}

}  // namespace rollcall::scheduling
