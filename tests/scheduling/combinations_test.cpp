// Any sampler with any allocator, rounds and selection: bounds, caps and resume hold for choices
// that no row has made.
#include "scheduling/schedulers.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace rollcall::scheduling {
namespace {

template <class Family>
std::string any_of(std::span<const PieceRow<Family>> table) {
  return table[*rc::gen::inRange<std::size_t>(0, table.size())].name;
}

SchedulerChoice any_choice() {
  return {"uniform", any_of(samplers()), any_of(allocators()), any_of(rounds()),
          any_of(selections())};
}

PromptTable any_table() {
  PromptTable table = prompt_table(std::size_t(*rc::gen::inRange(1, 60)));
  for (std::size_t p = 0; p < table.size(); ++p) table.domain.push_back(std::int32_t(p % 3));
  if (*rc::gen::arbitrary<bool>()) {
    // certain successes and failures too
    for (std::size_t p = 0; p < table.size(); ++p) table.prior.push_back(float(p % 5) / 4);
  }
  return table;
}

StepRequest any_request(std::uint64_t step) {
  StepRequest r{.step = step,
                .prompts = *rc::gen::inRange(1, 30),
                .budget = 0,
                .min_rollouts = *rc::gen::inRange(1, 4),
                .max_rollouts = 0,
                .progress = double(step) / 12};
  r.max_rollouts = r.min_rollouts + *rc::gen::inRange(0, 12);
  r.budget =
      *rc::gen::inRange<std::int64_t>(r.min_rollouts * r.prompts, r.max_rollouts * r.prompts + 1);
  return r;
}

void check_step(const std::vector<Decision>& rounds, const StepRequest& request,
                const Scheduler& policy) {
  std::map<GroupId, std::int64_t> samples;
  std::set<std::uint64_t> before;  // prompts of earlier rounds
  std::set<GroupId> helped;
  std::int64_t spent = 0;
  for (const Decision& round : rounds) {
    std::set<std::uint64_t> now;
    std::set<GroupId> groups;
    for (const GroupPlan& g : round.groups) {
      RC_ASSERT(groups.insert(g.id).second);  // two fragments of a group in one round could come
                                              // back in any order
      spent += g.count;
      if (!is_plain(g.from)) {  // asked once, as a further draw of a prompt of the step
        RC_ASSERT(!samples.contains(g.id) && before.contains(g.id.prompt.value));
        RC_ASSERT(samples.contains(g.from.parent) && helped.insert(g.id).second);
        continue;
      }
      // a refill brings new prompts
      if (g.first_sample == 0)
        RC_ASSERT(!samples.contains(g.id) && !before.contains(g.id.prompt.value));
      RC_ASSERT(std::int64_t(g.first_sample) == samples[g.id]);
      samples[g.id] += g.count;
      now.insert(g.id.prompt.value);
    }
    before.merge(now);
  }
  for (const auto& [id, count] : samples)
    RC_ASSERT(request.min_rollouts <= count && count <= request.max_rollouts);
  RC_ASSERT(spent <= policy.hard_cap(request));
  if (policy.traits().exact_total) RC_ASSERT(spent == request.budget);
}

TEST(Combinations, BoundsCapsAndResumeHold) {
  EXPECT_TRUE(rc::check("any four pieces over any table", [] {
    const SchedulerChoice choice = any_choice();
    const PromptTable table = any_table();
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    RC_TAG(choice.rounds);
    const auto undisturbed = make_scheduler(choice, {}, table, seed);
    auto interrupted = make_scheduler(choice, {}, table, seed);
    for (std::uint64_t step = 0; step < 12; ++step) {
      const StepRequest request = any_request(step);
      const auto rounds = simulate_step(*undisturbed, request);
      check_step(rounds, request, *undisturbed);
      RC_ASSERT(describe(rounds) == describe(simulate_step(*interrupted, request)));
      const std::string state = interrupted->save();
      RC_ASSERT(state == undisturbed->save());
      interrupted = make_scheduler(choice, {}, table, seed);
      interrupted->load(state);
      RC_ASSERT(interrupted->save() == state);
    }
  }));
}

}  // namespace
}  // namespace rollcall::scheduling
