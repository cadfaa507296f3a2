// Budgets: every row that promises exact totals spends exactly the budget, every other stays under
// its cap, in a hundred thousand steps of any kind.
#include "base/errors/error.hpp"
#include "core/derived_prompt.hpp"
#include "scheduling/scheduler.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rollcall::scheduling {
namespace {

constexpr std::int64_t kCases = 110'000;  // over all rows

class EveryBudget : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Rows, EveryBudget, testing::ValuesIn(policy_names()),
                         [](const auto& row) { return row.param; });

/// A group's rollouts over all rounds of a step, of the task's groups or of those with help.
/// Fragments number their samples one after the other; those with help are asked once, with numbers
/// that their parents have not.
std::map<GroupId, std::int64_t> counts_of(const std::vector<Decision>& rounds, bool help) {
  std::map<GroupId, std::int64_t> counts;
  for (const auto& round : rounds) {
    for (const auto& g : round.groups) {
      if (is_plain(g.from) == help) continue;
      EXPECT_EQ(g.first_sample, help ? first_derived_sample(g.id.draw) : counts[g.id]);
      EXPECT_TRUE(!help || !counts.contains(g.id));
      counts[g.id] += g.count;
    }
  }
  return counts;
}

std::int64_t total_of(const std::map<GroupId, std::int64_t>& counts) {
  std::int64_t total = 0;
  for (const auto& [id, count] : counts) total += count;
  return total;
}

void check(const Scheduler& policy, const PromptTable& table, const StepRequest& request,
           const std::vector<Decision>& rounds) {
  const auto counts = counts_of(rounds, false), with_help = counts_of(rounds, true);
  const std::int64_t total = total_of(counts) + total_of(with_help);
  for (const auto& [id, count] : with_help) ASSERT_TRUE(!counts.contains(id) && count >= 1);
  for (const auto& round : rounds) {
    for (const auto& g : round.groups)
      ASSERT_TRUE(g.id.step == request.step && g.level == table.level.at(g.id.prompt.value));
  }
  ASSERT_LE(total, policy.hard_cap(request));
  if (!policy.traits().exact_total) return;
  ASSERT_EQ(total, request.budget);
  ASSERT_EQ(std::int64_t(counts.size()), request.prompts);
  for (const auto& [id, count] : counts)
    ASSERT_TRUE(request.min_rollouts <= count && count <= request.max_rollouts) << count;
}

TEST_P(EveryBudget, IsSpentExactlyInAnyStep) {
  const auto rows = std::int64_t(policy_names().size());
  const std::int64_t steps = 50, runs = kCases / (rows * steps) + 1;
  for (std::int64_t run = 0; run < runs; ++run) {
    const Cheap cheap{std::uint64_t(run)};
    const auto table = prompt_table(std::size_t(cheap.between(0, 1, 40)));
    const auto policy = make_scheduler({GetParam()}, {}, table, cheap.bits(1));
    for (std::uint64_t step = 0; step < std::uint64_t(steps); ++step) {
      const StepRequest request = any_request(Cheap(std::uint64_t(run), step + 1), step);
      check(*policy, table, request, simulate_step(*policy, request));
      if (HasFatalFailure()) {
        FAIL() << "run " << run << " step " << step << ": " << request.prompts << " prompts, "
               << request.budget << " rollouts in [" << request.min_rollouts << ", "
               << request.max_rollouts << "], " << table.size() << " prompts in the table";
      }
    }
  }
}

/// Rollouts without a verdict were drawn all the same: budgets, caps and the numbers of samples
/// count them.
TEST_P(EveryBudget, CountsRolloutsThatNobodyCouldJudge) {
  for (const double undecided : {0.3, 1.0}) {
    const auto table = prompt_table(40);
    const auto policy = make_scheduler({GetParam()}, {}, table, 3);
    for (std::uint64_t step = 0; step < 40; ++step) {
      const StepRequest request = any_request(Cheap(9, step + 1), step);
      check(*policy, table, request, simulate_step(*policy, request, undecided));
      ASSERT_FALSE(HasFatalFailure())
          << "step " << step << ", " << undecided << " of the verdicts missing";
    }
  }
}

TEST_P(EveryBudget, OfALargeStepIsSpentInEachOfAHundred) {
  const auto table = prompt_table(2000);
  const auto policy = make_scheduler({GetParam()}, {}, table, 5);
  for (std::uint64_t step = 0; step < 100; ++step) {
    StepRequest request{.step = step,
                        .prompts = 256,
                        .budget = 1024,
                        .min_rollouts = 1,
                        .max_rollouts = 16,
                        .progress = double(step) / 100.0};
    if (step == 99) request.prompts = 37, request.budget = 149;  // the last, short batch
    check(*policy, table, request, simulate_step(*policy, request));
    ASSERT_FALSE(HasFatalFailure()) << "step " << step;
  }
}

TEST_P(EveryBudget, OutOfReachIsRefusedWithTheRange) {
  const auto policy = make_scheduler({GetParam()}, {}, prompt_table(10), 1);
  for (const std::int64_t budget : {7, 33, 100}) {
    try {
      policy->begin_step(
          {.step = 0, .prompts = 4, .budget = budget, .min_rollouts = 2, .max_rollouts = 8});
      FAIL() << "a budget of " << budget << " was accepted";
    } catch (const ConfigError& e) {
      EXPECT_NE(std::string(e.what()).find("from 8 to 32"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(policy->begin_step({.step = 0, .prompts = 0, .budget = 0}), ConfigError);
  EXPECT_THROW(policy->begin_step(
                   {.step = 0, .prompts = 2, .budget = 2, .min_rollouts = 0, .max_rollouts = 2}),
               ConfigError);
}

}  // namespace
}  // namespace rollcall::scheduling
