// Groups with chosen outcomes, and runs of a policy over prompts that succeed at chosen rates.
#pragma once

#include "scheduling/simulated_run.hpp"

#include <cmath>
#include <functional>

namespace rollcall::scheduling {

/// The first `right` of `rollouts` rollouts are right; rewards 0 and 1.
inline GroupReport group(std::uint64_t prompt, int right, int rollouts, std::uint64_t step = 0) {
  GroupReport r = no_results({step, {prompt}, 0}, 2);
  for (int i = 0; i < rollouts; ++i) {
    r.correct.push_back(i < right);
    r.rewards.push_back(i < right);
    r.lengths.push_back(4);
  }
  return r;
}

inline PromptTable table_of(std::vector<float> prior) {
  return {
      .level = std::vector<std::int32_t>(prior.size(), 2), .domain = {}, .prior = std::move(prior)};
}

struct Played {
  std::vector<Decision> rounds;
  std::vector<GroupReport> reports;  ///< whole groups, ascending
  Training training;
  std::int64_t count(std::uint64_t prompt) const {
    std::int64_t n = 0;
    for (const auto& round : rounds) {
      for (const auto& g : round.groups)
        n += g.id.prompt.value == prompt ? std::int64_t(g.count) : 0;
    }
    return n;
  }
};

/// One step in which sample s of a prompt is right when `right` says so.
inline Played play(Scheduler& policy, const StepRequest& request,
                   const std::function<bool(const GroupPlan&, std::uint32_t)>& right) {
  Played played{.rounds = {policy.begin_step(request)}, .reports = {}, .training = {}};
  std::map<GroupId, GroupReport> whole;
  for (;;) {
    std::vector<GroupReport> reports;
    for (const auto& plan : played.rounds.back().groups) {
      GroupReport r = no_results(plan.id, plan.level);
      r.from = plan.from;
      for (std::uint32_t s = plan.first_sample; s < plan.first_sample + plan.count; ++s) {
        r.correct.push_back(right(plan, s));
        r.rewards.push_back(r.correct.back());
        r.lengths.push_back(4);
      }
      auto& sum = whole.try_emplace(r.id, no_results(r.id, r.level)).first->second;
      sum.from = r.from;
      sum.correct.insert(sum.correct.end(), r.correct.begin(), r.correct.end());
      sum.rewards.insert(sum.rewards.end(), r.rewards.begin(), r.rewards.end());
      sum.lengths.insert(sum.lengths.end(), r.lengths.begin(), r.lengths.end());
      reports.push_back(std::move(r));
    }
    if (played.rounds.back().last_round) break;
    if (played.rounds.size() > 64) throw std::logic_error("the policy never closes its step");
    played.rounds.push_back(policy.next_round(request, reports));
  }
  for (auto& [id, r] : whole) played.reports.push_back(std::move(r));
  played.training = policy.settle(request, played.reports);
  policy.end_step(played.reports);
  return played;
}

/// Right with the prompt's rate, by address.
inline std::function<bool(const GroupPlan&, std::uint32_t)> at_rates(
    std::function<double(std::uint64_t)> rate) {
  return [rate](const GroupPlan& g, std::uint32_t s) {
    return RandomStream(5, RandomPurpose::test, g.id.step, g.id.prompt.value, s)
               .uniform(g.id.draw) < rate(g.id.prompt.value);
  };
}

/// Share of groups whose outcomes do not differ over `steps` steps after `burn_in` of them.
inline double dead_share(Scheduler& policy, StepRequest request, std::uint64_t burn_in,
                         std::uint64_t steps, const std::function<double(std::uint64_t)>& rate) {
  double dead = 0, all = 0;
  for (std::uint64_t step = 0; step < burn_in + steps; ++step) {
    request.step = step;
    const auto played = play(policy, request, at_rates(rate));
    for (const auto& r : played.reports) {
      const auto right = std::count(r.correct.begin(), r.correct.end(), 1);
      if (step >= burn_in) dead += right == 0 || right == std::int64_t(r.correct.size()), ++all;
    }
  }
  return dead / all;
}

}  // namespace rollcall::scheduling
