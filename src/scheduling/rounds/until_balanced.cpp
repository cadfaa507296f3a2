// Every group that is not done gets another part of its first size.
#include "scheduling/rounds/until_balanced.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>

namespace rollcall::scheduling {

void UntilBalancedRounds::bind(ConfigSchema& s) {
  s.bind("ada_rounds", &rounds_, "rounds at most, the first included", {1, 1000});
  s.bind("ada_enough", &keep_, "rollouts that a balanced group needs, half right and half wrong",
         {1, 1e6});
  s.bind("ada_until", &until_, "when a prompt is done", {}, {"balanced", "positive"});
}

bool UntilBalancedRounds::done(const GroupReport& group) const {
  const double half = double(keep_ / 2), wrong = double(group.correct.size()) - right(group);
  return until_ == "positive" ? right(group) >= 1
                              : right(group) >= half && wrong >= double(keep_) - half;
}

std::int64_t UntilBalancedRounds::hard_cap(const StepRequest& request) const {
  return std::min(rounds_ * request.budget, request.max_rollouts * request.prompts);
}

Decision UntilBalancedRounds::next(const StepRequest& request, std::uint32_t round,
                                   const std::vector<GroupReport>& pool, Sampler&) {
  Decision decision{.groups = {}, .last_round = std::int64_t(round) + 1 >= rounds_};
  for (const GroupReport& group : pool) {
    const std::int64_t have = drawn(group);
    if (done(group)) continue;
    // A group that is still active has been in all `round` rounds, so its first size is have /
    // round.
    const std::int64_t more = std::min(have / std::int64_t(round), request.max_rollouts - have);
    if (more > 0)
      decision.groups.push_back({group.id, group.level, std::uint32_t(have), std::uint32_t(more)});
  }
  return decision;
}

}  // namespace rollcall::scheduling
