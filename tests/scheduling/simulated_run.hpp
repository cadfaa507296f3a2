// A run without models: prompts that succeed at known rates, driven through the scheduling
// interface as the coordinator does it.
#pragma once

#include "base/numbers/random.hpp"
#include "scheduling/scheduler.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace rollcall::scheduling {

inline PromptTable prompt_table(std::size_t prompts, std::int32_t levels = 4) {
  PromptTable table;
  for (std::size_t i = 0; i < prompts; ++i) table.level.push_back(2 + std::int32_t(i) % levels);
  return table;
}

/// Addressed numbers for cases by the hundred thousand, where a property library's generators would
/// take minutes.
class Cheap {
 public:
  explicit Cheap(std::uint64_t run, std::uint64_t step = 0)
      : stream_(77, RandomPurpose::test, run, step) {}
  std::uint64_t bits(std::uint64_t index) const { return stream_.bits(index); }
  std::int64_t between(std::uint64_t index, std::int64_t low, std::int64_t high) const {
    return low + std::int64_t(stream_.below(index, std::uint64_t(high - low + 1)));
  }

 private:
  RandomStream stream_;
};

/// Any feasible request: the budget lies anywhere between the bounds, both ends included and
/// likely.
inline StepRequest any_request(const Cheap& cheap, std::uint64_t step) {
  StepRequest r{.step = step,
                .prompts = cheap.between(1, 1, cheap.between(0, 0, 9) == 0 ? 50 : 12)};
  r.min_rollouts = cheap.between(2, 1, 3);
  r.max_rollouts = r.min_rollouts + cheap.between(3, 0, 1) * cheap.between(4, 0, 24);
  const std::int64_t least = r.min_rollouts * r.prompts, most = r.max_rollouts * r.prompts;
  switch (cheap.between(5, 0, 9)) {
    case 0: r.budget = least; break;
    case 1: r.budget = most; break;
    default: r.budget = cheap.between(6, least, most);
  }
  r.progress = double(step % 100) / 100.0;
  return r;
}

inline GroupReport no_results(const GroupId& id, std::int32_t level) {
  GroupReport r;
  r.id = id;
  r.level = level;
  return r;
}

/// Success falls with the level and grows with the step; the outcome of a sample depends on its
/// address alone. A share of them comes to no verdict.
inline GroupReport outcome(const GroupPlan& plan, double undecided = 0.0) {
  GroupReport r = no_results(plan.id, plan.level);
  r.from = plan.from;
  const double rate = std::min(0.95, 0.9 / (plan.level - 1) + 0.01 * double(plan.id.step % 50));
  for (std::uint32_t s = plan.first_sample; s < plan.first_sample + plan.count; ++s) {
    if (RandomStream(8, RandomPurpose::test, plan.id.step, plan.id.prompt.value, s)
            .uniform(plan.id.draw) < undecided) {
      ++r.dropped;
      continue;
    }
    const bool right = RandomStream(9, RandomPurpose::test, plan.id.step, plan.id.prompt.value, s)
                           .uniform(plan.id.draw) < rate;
    r.correct.push_back(right);
    r.rewards.push_back(right);
    r.lengths.push_back(4);
  }
  return r;
}

/// One step with all its rounds. Returns the decisions in order; the reports of all rounds,
/// ascending by GroupId, end the step.
inline std::vector<Decision> simulate_step(Scheduler& policy, const StepRequest& request,
                                           double undecided = 0.0) {
  std::vector<Decision> rounds = {policy.begin_step(request)};
  std::map<GroupId, GroupReport> whole;
  for (;;) {
    std::vector<GroupReport> reports;
    for (const auto& plan : rounds.back().groups) reports.push_back(outcome(plan, undecided));
    for (const auto& r : reports) {
      auto& sum = whole.try_emplace(r.id, no_results(r.id, r.level)).first->second;
      sum.from = r.from;
      sum.correct.insert(sum.correct.end(), r.correct.begin(), r.correct.end());
      sum.rewards.insert(sum.rewards.end(), r.rewards.begin(), r.rewards.end());
      sum.lengths.insert(sum.lengths.end(), r.lengths.begin(), r.lengths.end());
      sum.dropped += r.dropped;
    }
    if (rounds.back().last_round) break;
    if (rounds.size() > 16) throw std::logic_error("the policy never closes its step");
    rounds.push_back(policy.next_round(request, reports));
  }
  std::vector<GroupReport> reports;
  for (auto& [id, r] : whole) reports.push_back(std::move(r));
  const Training training = policy.settle(request, reports);
  std::int64_t all = 0, with_verdicts = 0;
  for (const auto& r : reports) {
    all += drawn(r), with_verdicts += std::int64_t(r.rewards.size());
    for (const auto& group : training.groups)
      if (group.id == r.id && !group.keep.empty() && group.keep.size() != r.rewards.size())
        throw std::logic_error("a choice among other rollouts");
  }
  if (training.drawn != all || training.trained > with_verdicts)
    throw std::logic_error("the policy counts other rollouts than were drawn");
  policy.end_step(reports);
  return rounds;
}

/// Every decision of a run as text, so that runs compare bit for bit.
inline std::string describe(const std::vector<Decision>& rounds) {
  std::string text;
  for (const auto& d : rounds) {
    for (const auto& g : d.groups) {
      for (const std::uint64_t v : {g.id.step, g.id.prompt.value, std::uint64_t(g.id.draw),
                                    std::uint64_t(g.first_sample), std::uint64_t(g.count)}) {
        text += std::to_string(v) + ' ';
      }
      if (!is_plain(g.from)) text += "tier " + std::to_string(g.from.tier) + ' ';
    }
    text += d.last_round ? "end\n" : "more\n";
  }
  return text;
}

}  // namespace rollcall::scheduling
