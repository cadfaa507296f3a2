// A heap of priorities gives out one rollout at a time.
#include "scheduling/rounds/widest_interval.hpp"

#include "scheduling/prompts/mean_interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

namespace rollcall::scheduling {
void WidestIntervalRounds::bind(ConfigSchema& s) {
  s.bind("pilot_rollouts", &pilot_,
         "rollouts a prompt in the first round, within the step's bounds", {1, 1e6});
  s.bind("phases", &phases_, "rounds that spend the rest", {1, 1000});
  s.bind("exploration_bonus", &bonus_, "weight of sqrt(log(1 + T) / n)", {0, 1e6});
}

std::optional<Shortage> WidestIntervalRounds::shortage(const StepRequest& request) const {
  if (auto found = no_room_to_differ(request, request.min_rollouts, request.max_rollouts))
    return found;
  if (first(request).budget < request.budget) return std::nullopt;
  return Shortage{
      fmt::format(
          "spends what its pilot of {} rollouts a prompt leaves, but train.rollouts_per_prompt is {}",
          pilot_, request.budget / request.prompts),
      "raise train.rollouts_per_prompt, or lower scheduler.knobs.pilot_rollouts"};
}

StepRequest WidestIntervalRounds::first(const StepRequest& request) const {
  StepRequest pilot = request;
  pilot.budget = request.prompts *
                 std::max(request.min_rollouts, std::min(pilot_, request.budget / request.prompts));
  return pilot;
}

Decision WidestIntervalRounds::next(const StepRequest& request, std::uint32_t round,
                                    const std::vector<GroupReport>& pool, Sampler&) {
  std::int64_t spent = 0;
  for (const GroupReport& group : pool) spent += drawn(group);
  const std::int64_t left = request.budget - spent,
                     phases = std::max<std::int64_t>(1, phases_ - std::int64_t(round) + 1);
  std::int64_t now = (left + phases - 1) / phases;
  const double explore = std::log(1.0 + double(spent));
  std::vector<std::int64_t> have;
  std::vector<double> spread;
  const auto priority = [&](std::size_t i) {
    const auto n = double(have[i]);
    if (have[i] >= request.max_rollouts) return -1.0;
    if (n < 2) return std::numeric_limits<double>::infinity();  // one rollout has no interval yet
    return half_width(n, spread[i]) - half_width(n + 1, spread[i]) +
           bonus_ * std::sqrt(explore / n);
  };
  const auto later = [](const auto& a, const auto& b) {
    return a.first < b.first || (a.first == b.first && a.second > b.second);
  };
  std::priority_queue<std::pair<double, std::size_t>, std::vector<std::pair<double, std::size_t>>,
                      decltype(later)>
      queue(later);
  for (std::size_t i = 0; i < pool.size(); ++i) {
    have.push_back(drawn(pool[i]));
    spread.push_back(deviation(pool[i].rewards));
    queue.emplace(priority(i), i);
  }
  for (; now > 0 && !queue.empty() && queue.top().first >= 0; --now) {
    const std::size_t i = queue.top().second;
    queue.pop();
    ++have[i];
    queue.emplace(priority(i), i);
  }
  Decision decision{.groups = {}, .last_round = phases == 1};
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const std::int64_t before = drawn(pool[i]);
    if (have[i] > before)
      decision.groups.push_back(
          {pool[i].id, pool[i].level, std::uint32_t(before), std::uint32_t(have[i] - before)});
  }
  return decision;
}

}  // namespace rollcall::scheduling
