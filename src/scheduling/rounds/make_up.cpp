// One look at the first round, and one correction.
#include "scheduling/rounds/make_up.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void MakeUpRounds::bind(ConfigSchema& s) {
  s.bind("depth", &depth_, "how far hard prompts are lifted", {}, {"equal", "hardness"});
  s.bind("depth_limit", &limit_, "rollouts of a prompt at most", {1, 1e6});
  s.bind("depth_standardised", &standardised_,
         "the advantages are divided by the group's standard deviation");
}

std::int64_t MakeUpRounds::extra(std::int64_t rollouts, double accuracy) const {
  if (accuracy >= 0.5) return 0;
  const auto n = double(rollouts), a = accuracy > 0 ? accuracy : 0.5 / n;
  const auto mass = [&](double p) {
    return standardised_ ? 2.0 * std::sqrt(p * (1.0 - p)) : 2.0 * p * (1.0 - p);
  };
  const double peak = n * mass(0.5), target = depth_ == "hardness" ? 2.0 * (1.0 - a) * peak : peak;
  // rounding in the quotient must not add a rollout
  const double more = std::ceil((target - n * mass(a)) / mass(a) - 1e-9);
  return std::clamp(std::int64_t(more), std::int64_t{0},
                    std::max<std::int64_t>(limit_ - rollouts, 0));
}

std::int64_t MakeUpRounds::hard_cap(const StepRequest& request) const {
  return std::min(
      request.prompts * request.max_rollouts,
      request.budget + request.prompts * std::max<std::int64_t>(0, limit_ - request.min_rollouts));
}

std::optional<Shortage> MakeUpRounds::shortage(const StepRequest& request) const {
  if (const std::int64_t mean = request.budget / request.prompts; limit_ <= mean)
    return Shortage{
        fmt::format(
            "draws up to {} rollouts of a prompt, and train.rollouts_per_prompt is {} already",
            limit_, mean),
        fmt::format("set scheduler.knobs.depth_limit={} and scheduler.max_rollouts={} or more",
                    4 * mean, 4 * mean)};
  if (limit_ <= request.max_rollouts) return std::nullopt;
  return Shortage{
      fmt::format("draws up to {} rollouts of a prompt, but scheduler.max_rollouts is {}", limit_,
                  request.max_rollouts),
      fmt::format("set scheduler.max_rollouts={}, or scheduler.knobs.depth_limit={}", limit_,
                  request.max_rollouts)};
}

Decision MakeUpRounds::next(const StepRequest& request, std::uint32_t,
                            const std::vector<GroupReport>& pool, Sampler&) {
  Decision decision;
  for (const GroupReport& group : pool) {
    if (group.correct.empty()) continue;  // undecided rollouts are not wrong ones
    const std::int64_t have = drawn(group);
    const std::int64_t more = std::min(extra(have, success(group)), request.max_rollouts - have);
    if (more > 0)
      decision.groups.push_back({group.id, group.level, std::uint32_t(have), std::uint32_t(more)});
  }
  return decision;
}

}  // namespace rollcall::scheduling
