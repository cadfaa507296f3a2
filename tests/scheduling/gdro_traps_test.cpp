// The eight traps of GDRO, each with the rule that avoids it: arXiv:2601.19280 against the code its
// authors released.
#include "base/text/json.hpp"
#include "scheduling/allocator/gdro.hpp"
#include "scheduling/allocator/gdro_paper.hpp"
#include "scheduling/scheduler.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace rollcall::scheduling {
namespace {

GroupReport report(std::uint64_t step, std::uint64_t prompt, int right, int wrong,
                   double loss = NAN) {
  GroupReport r = no_results({step, {prompt}, 0}, 2);
  for (int i = 0; i < right + wrong; ++i)
    r.correct.push_back(i < right), r.rewards.push_back(i < right), r.lengths.push_back(4);
  r.loss = loss;
  return r;
}

std::map<std::string, double> metrics_of(const Scheduler& policy) {
  std::map<std::string, double> m;
  for (const auto& [name, value] : policy.metrics()) m[name] = value;
  return m;
}

/// Prompts 0..3 never succeed, 4..7 always do: bins 0 and 5 of 6.
PromptTable two_kinds() {
  return {.level = std::vector<std::int32_t>(8, 2), .prior = {0, 0, 0, 0, 1, 1, 1, 1}};
}

/// An allocator over two_kinds() whose every input is given by the test.
template <class A = GdroAllocator>
struct Bandits {
  explicit Bandits(const std::vector<std::string>& settings = {},
                   const PromptTable& table = two_kinds())
      : knowledge(table, 1), allocator(knowledge) {
    ConfigSchema schema;
    knowledge.bind(schema);
    allocator.bind(schema);
    for (const auto& setting : settings) schema.set(setting);
    knowledge.start();
  }
  void learn(const std::vector<GroupReport>& reports) {
    knowledge.learn(reports);
    allocator.learn(reports);
  }
  Knowledge knowledge;
  A allocator;
};

TEST(GdroTraps, T1TheSignalCarriesDifficulty) {
  for (const std::string signal : {"failure_rate", "fail_at_k", "surrogate_loss"}) {
    const auto policy = make_scheduler({"gdro_reweight"}, {{"signal", signal}}, two_kinds(), 1);
    for (std::uint64_t step = 0; step < 5; ++step)
      policy->end_step({report(step, 0, 0, 4, 0.0), report(step, 4, 4, 0, 0.0)});
    // Advantages standardised in a group add up to zero, so on-policy the surrogate loss is zero
    // for hopeless and solved prompts alike.
    if (signal == "surrogate_loss") {
      EXPECT_EQ(policy->weight({0}), policy->weight({4}));
    } else {
      EXPECT_GT(policy->weight({0}), 1.2 * policy->weight({4})) << signal;
    }
  }
}

TEST(GdroTraps, T1ASurrogateLossThatNobodyToldChangesNothing) {
  const auto policy = make_scheduler({"gdro_both"}, {{"signal", "surrogate_loss"}}, two_kinds(), 1);
  policy->end_step({report(0, 0, 0, 4), report(0, 4, 4, 0)});
  EXPECT_EQ(policy->weight({0}), 1.0);
  EXPECT_FALSE(metrics_of(*policy).contains("gdro/signal/0"));
  policy->end_step({report(1, 0, 0, 4, 0.5), report(1, 4, 4, 0)});
  EXPECT_NEAR(policy->weight({0}), std::exp(0.65 * 0.06), 1e-15);
  EXPECT_EQ(policy->weight({4}), 1.0);
}

std::vector<GroupPlan> plans(std::uint64_t step, std::uint64_t prompts) {
  std::vector<GroupPlan> groups;
  for (std::uint64_t p = 0; p < prompts; ++p) groups.push_back({.id = {step, {p}, 0}});
  return groups;
}

TEST(GdroTraps, T2ACountThatAddsGainsWeight) {
  Bandits b({"arm_fade=0"});
  // Arms 2 and 3 only, 20 rollouts for two bins of 4: one plays 2, the other 3, each with chance
  // 1/2.
  const auto n = b.allocator.counts(
      {.step = 0, .prompts = 8, .budget = 20, .min_rollouts = 2, .max_rollouts = 3}, plans(0, 8));
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 8; ++p) {
    reports.push_back(report(0, p, int(n[p]), 0));
    // the third rollout makes them differ
    if (n[p] == 3) reports.back().rewards = {1.0, 1.0, 0.0};
    reports.back().correct.assign(std::size_t(n[p]), p >= 4);  // every prompt stays in its bin
  }
  b.learn(reports);
  const std::size_t more = n[0] == 3 ? 0 : 5, less = 5 - more;
  // rate, over the chance of a third rollout and 0.05
  EXPECT_NEAR(b.allocator.log_weight(more, 3), 0.25 / 0.55, 1e-12);
  EXPECT_NEAR(b.allocator.log_weight(more, 12), 0.25 / 0.55, 1e-12);
  EXPECT_EQ(b.allocator.log_weight(more, 2), 0.0);
  // its two were equal, more was not seen
  for (const std::int64_t count : {2, 3, 12}) EXPECT_EQ(b.allocator.log_weight(less, count), 0.0);
  int times = 0;
  for (std::uint64_t step = 1; step <= 4000; ++step) {
    times += b.allocator.counts(
                 {.step = step, .prompts = 8, .budget = 20, .min_rollouts = 2, .max_rollouts = 3},
                 plans(step, 8))[more == 0 ? 0 : 4] == 3;
  }
  // 0.95 e / (e + 1) + 0.05 / 2 with e = exp(0.454545): the price that the budget sets is the same
  // for both and cancels.
  EXPECT_NEAR(times / 4000.0, 0.6061, 0.025);  // three deviations
}

TEST(GdroTraps, T2InThePaperAnArmOfLowerPenalisedLossGainsProbability) {
  const auto gain = [](int right, int wrong, double price) {
    Bandits<PaperGdroAllocator> b({"arm_signal=failure_rate"});
    b.allocator.load({{"price", price}, {"log_weights", nlohmann::json::array()}});
    b.learn({report(0, 0, right, wrong)});
    return b.allocator.probabilities(0)[std::size_t(right + wrong - 2)] - 1.0 / 11;
  };
  EXPECT_GT(gain(4, 0, 0.0), gain(2, 2, 0.0));  // lower loss, higher utility
  EXPECT_GT(gain(2, 2, 0.0), gain(1, 3, 0.0));
  EXPECT_GT(gain(4, 0, 0.0), 0.0);
  EXPECT_NEAR(gain(0, 4, 0.0), 0.0, 1e-12);     // the largest loss earns nothing
  EXPECT_GT(gain(2, 2, 0.1), gain(6, 6, 0.1));  // equal failure, but twelve rollouts cost more than
                                                // four
  EXPECT_LT(gain(2, 2, -0.1), gain(6, 6, -0.1));
}

TEST(GdroTraps, T2ThePapersUpdateByHand) {
  Bandits<PaperGdroAllocator> b({"arm_signal=failure_rate"});
  b.learn({report(7, 0, 3, 1)});
  // Reward 1 - 0.25 for arm 4 (price 0). K = 11, T = 1000: gamma = 2 sqrt(0.6 * 11 * ln 11 / 1000)
  // = 0.251605; the arm's log-weight leads by gamma / 33 * 0.75 * 11 = 0.0629012, so p = 0.748395 e
  // / (e + 10) + 0.251605 / 11 with e = exp(0.0629012).
  const double lead = std::exp(0.0629012);
  EXPECT_NEAR(b.allocator.probabilities(0)[2], 0.748395 * lead / (lead + 10) + 0.251605 / 11, 1e-6);
  EXPECT_NEAR(b.allocator.probabilities(5)[2], 1.0 / 11, 1e-12);  // no prompt of that bin
}

TEST(GdroTraps, T3BudgetsAndHistoriesBelongToPrompts) {
  Bandits b;
  const std::vector<GroupPlan> forward = plans(5, 8), backward(forward.rbegin(), forward.rend());
  const StepRequest request{
      .step = 5, .prompts = 8, .budget = 48, .min_rollouts = 1, .max_rollouts = 16};
  const auto there = b.allocator.counts(request, forward),
             back = b.allocator.counts(request, backward);
  EXPECT_NE(there.front(), there.back());  // else this test would show nothing
  EXPECT_EQ(there, std::vector<std::int64_t>(back.rbegin(), back.rend()));
  // The counts come back with the prompts they were spent on, whatever stood there in another step:
  // prompt 5 teaches the bin of prompt 5.
  const std::uint64_t p = there[5] > there[1] ? 5 : 1;  // of the bin that played more
  const std::size_t own = p == 5 ? 5 : 0, other = 5 - own;
  GroupReport late = report(5, p, int(there[p]), 0);
  late.rewards.back() = 0.0;  // its last rollout makes its rewards differ
  b.learn({late});
  EXPECT_GT(b.allocator.log_weight(own, there[p]), 0.0);
  EXPECT_EQ(b.allocator.log_weight(own, there[p] - 1), 0.0);
  EXPECT_EQ(b.allocator.log_weight(other, 12), 0.0);
}

TEST(GdroTraps, T4WhereNoArmsMeetTheBudgetTheRemainderIsSpreadExactly) {
  Bandits b;
  const std::vector<GroupPlan> two = plans(0, 2);
  EXPECT_EQ(
      b.allocator.counts({.prompts = 2, .budget = 9, .min_rollouts = 1, .max_rollouts = 16}, two),
      (std::vector<std::int64_t>{5, 4}));  // two prompts, one bin: 2 a = 9
  EXPECT_EQ(
      b.allocator.counts({.prompts = 2, .budget = 31, .min_rollouts = 1, .max_rollouts = 16}, two),
      (std::vector<std::int64_t>{16, 15}));  // beyond all arms
  // no arm allowed
  EXPECT_EQ(
      b.allocator.counts({.prompts = 2, .budget = 2, .min_rollouts = 1, .max_rollouts = 1}, two),
      (std::vector<std::int64_t>{1, 1}));
  // reached by arms
  EXPECT_EQ(
      b.allocator.counts({.prompts = 2, .budget = 8, .min_rollouts = 3, .max_rollouts = 4}, two),
      (std::vector<std::int64_t>{4, 4}));
}

TEST(GdroTraps, T4FewCombinationsGetSlackAndSingleRolloutsMakeThemWhole) {
  // Bins of 37 and 27 prompts and 256 rollouts: only 4 and 4 meet it. 12 rollouts of slack leave
  // several, and what is missing is spread one by one.
  PromptTable table{.level = std::vector<std::int32_t>(64, 2),
                    .prior = std::vector<float>(64, 1.0F)};
  std::fill(table.prior.begin(), table.prior.begin() + 37, 0.0F);
  Bandits slack({}, table), none({"total_slack=0"}, table);
  std::map<std::pair<std::int64_t, std::int64_t>, int> arms;
  double repaired = 0.0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const StepRequest request{
        .step = step, .prompts = 64, .budget = 256, .min_rollouts = 1, .max_rollouts = 16};
    const auto n = slack.allocator.counts(request, plans(step, 64));
    ASSERT_EQ(std::accumulate(n.begin(), n.end(), std::int64_t{0}), 256);
    ++arms[{n[36], n[63]}];
    for (std::size_t i = 1; i < 37; ++i) ASSERT_TRUE(std::abs(n[i] - n[36]) <= 1) << step;
    // at most 12 of the first 37 are touched
    for (std::size_t i = 37; i < 63; ++i) ASSERT_EQ(n[i], n[63]) << step;
    repaired += slack.allocator.metrics().front().second;
    for (const std::int64_t four : none.allocator.counts(request, plans(step, 64)))
      ASSERT_EQ(four, 4);
  }
  EXPECT_EQ(arms.size(), 4U);  // 4 and 4, 3 and 5 (246), 5 and 3 (266), 2 and 7 (263)
  EXPECT_LE(repaired / 100, 12.0);
  EXPECT_GT(repaired / 100, 0.5);
}

TEST(GdroTraps, T4ARepairedGroupCreditsNoCountItDidNotPlay) {
  PromptTable table{.level = std::vector<std::int32_t>(64, 2),
                    .prior = std::vector<float>(64, 1.0F)};
  std::fill(table.prior.begin(), table.prior.begin() + 37, 0.0F);
  Bandits b({"arm_signal=solved"}, table);
  for (std::uint64_t step = 0;; ++step) {
    ASSERT_LT(step, 100U);
    const auto n = b.allocator.counts(
        {.step = step, .prompts = 64, .budget = 256, .min_rollouts = 1, .max_rollouts = 16},
        plans(step, 64));
    if (n[0] >= n[36] || n[0] < 3) continue;
    // Prompt 0 lost a rollout. That its last one is solved says nothing of its bin.
    GroupReport cut = report(step, 0, 0, int(n[0]));
    cut.correct.back() = 1;
    b.learn({cut});
    for (std::int64_t count = 2; count <= 12; ++count)
      EXPECT_EQ(b.allocator.log_weight(0, count), 0.0);
    break;
  }
}

class GdroRows : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Rows, GdroRows,
                         testing::Values("gdro_reweight", "gdro_resample", "rollout_gdro",
                                         "gdro_both", "gdro_both_resample", "gdro_sqrt",
                                         "gdro_paper", "gdro_paper_rollout", "gdro_released",
                                         "gdro_released_rollout"));

TEST_P(GdroRows, T5BinsScoresAndPriceSurviveAResume) {
  const auto table = prompt_table(40);
  const auto whole = make_scheduler({GetParam()}, {}, table, 3);
  const auto request = [](std::uint64_t step) {
    return StepRequest{
        .step = step, .prompts = 16, .budget = 64, .min_rollouts = 1, .max_rollouts = 16};
  };
  for (std::uint64_t step = 0; step < 30; ++step) simulate_step(*whole, request(step));
  const auto resumed = make_scheduler({GetParam()}, {}, table, 3);
  resumed->load(whole->save());
  std::map<std::int32_t, int> bins;
  for (std::uint64_t p = 0; p < 40; ++p) {
    EXPECT_EQ(resumed->bin({p}), whole->bin({p}));
    EXPECT_EQ(resumed->weight({p}), whole->weight({p}));
    ++bins[whole->bin({p})];
  }
  EXPECT_GT(bins.size(), 1U);
  for (std::uint64_t step = 30; step < 40; ++step)
    EXPECT_EQ(describe(simulate_step(*resumed, request(step))),
              describe(simulate_step(*whole, request(step))));
  EXPECT_EQ(resumed->save(), whole->save());
}

TEST(GdroTraps, T5ThePapersPriceSurvivesAResume) {
  Bandits<PaperGdroAllocator> whole, resumed;
  whole.allocator.counts(
      {.step = 0, .prompts = 8, .budget = 8, .min_rollouts = 1, .max_rollouts = 16}, plans(0, 8));
  whole.learn({report(0, 0, 1, 0)});
  EXPECT_EQ(whole.allocator.price(), 0.05);
  resumed.allocator.load(whole.allocator.save());
  EXPECT_EQ(resumed.allocator.price(), 0.05);
}

TEST(GdroTraps, T6UnevenGroupsCountOnceEach) {
  const auto policy = make_scheduler({"gdro_reweight"}, {{"beta", "1"}}, two_kinds(), 1);
  policy->end_step({report(0, 0, 0, 1), report(0, 1, 9, 0), report(0, 2, 1, 3)});
  // eq. 13: over prompts, not over 14 rollouts
  EXPECT_NEAR(metrics_of(*policy).at("gdro/signal/0"), (1.0 + 0.0 + 0.75) / 3, 1e-15);
  EXPECT_NEAR(metrics_of(*policy).at("gdro/budget/0"), 14.0 / 3, 1e-15);
  const auto one_each = make_scheduler({"gdro_sqrt"}, {}, two_kinds(), 1);
  // groups of one have no variance and say nothing
  one_each->end_step({report(0, 0, 0, 1), report(0, 4, 1, 0)});
  const auto d = one_each->begin_step(
      {.step = 1, .prompts = 8, .budget = 32, .min_rollouts = 1, .max_rollouts = 16});
  for (const auto& g : d.groups) EXPECT_EQ(g.count, 4U);
}

TEST(GdroTraps, T7ANewPromptStartsAtItsPrior) {
  const PromptTable plain{.level = {2, 2, 2}};
  const auto middle = make_scheduler({"gdro_reweight"}, {}, plain, 1);
  EXPECT_EQ(middle->bin({0}), 3);  // 0.5 of six bins
  EXPECT_EQ(middle->weight({0}), 1.0);
  EXPECT_EQ(make_scheduler({"gdro_reweight"}, {{"prior_success", "0.05"}}, plain, 1)->bin({0}), 0);
  const PromptTable told{.level = {2, 2, 2}, .prior = {0.9F, 0.2F, 0.5F}};
  const auto by_model = make_scheduler({"gdro_reweight"}, {}, told, 1);
  EXPECT_EQ(by_model->bin({0}), 5);
  EXPECT_EQ(by_model->bin({1}), 1);
  by_model->end_step({report(0, 1, 4, 0)});
  EXPECT_EQ(by_model->bin({1}), 5);  // its first outcome is all the history there is (eq. 10)
}

TEST(GdroTraps, T8BothGamesPlayTogetherEachOnItsSignal) {
  const auto policy = make_scheduler(
      {"gdro_both"}, {{"signal", "fail_at_k"}, {"bin_edges", "[0.25, 0.75]"}}, two_kinds(), 1);
  const StepRequest request{
      .step = 0, .prompts = 8, .budget = 48, .min_rollouts = 1, .max_rollouts = 16};
  const auto groups = policy->begin_step(request).groups;
  std::vector<GroupReport> reports;
  for (const auto& g : groups)
    reports.push_back(report(0, g.id.prompt.value, g.id.prompt.value < 4 ? 0 : 1,
                             int(g.count) - (g.id.prompt.value < 4 ? 0 : 1)));
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  const Training training = policy->settle(request, reports);
  ASSERT_EQ(training.groups.size(), 4U);  // the solved ones keep weight 1
  EXPECT_EQ(training.drawn, 48);
  // S = 0.12 with this step's results.
  for (const auto& g : training.groups) EXPECT_NEAR(g.weight, std::exp(0.65 * 0.12), 1e-15);
  policy->end_step(reports);
  // what settled the step is what was learned from it
  EXPECT_EQ(policy->weight({0}), training.groups.front().weight);
  EXPECT_EQ(policy->weight({4}), 1.0);
  const auto m = metrics_of(*policy);
  for (const std::string name :
       {"gdro/weight/0", "gdro/probability/0", "gdro/budget/0", "gdro/pass_rate/0", "gdro/signal/0",
        "gdro/arm_signal/0", "gdro/repaired", "gdro/best_count/0", "gdro/count_spread/0"})
    EXPECT_TRUE(m.contains(name)) << name;
}

TEST(GdroTraps, T8BothRealisationsAtOnceTellTheirProbabilitiesOnce) {
  const auto policy = make_scheduler({.row = "gdro_resample", .selection = "gdro_reweight"},
                                     {{"eta", "2"}}, two_kinds(), 1);
  policy->end_step({report(0, 0, 0, 4), report(0, 4, 4, 0)});
  std::map<std::string, int> times;
  for (const auto& [name, value] : policy->metrics()) ++times[name];
  for (const auto& [name, n] : times) EXPECT_EQ(n, 1) << name;
  EXPECT_EQ(times.count("gdro/probability/0") + times.count("gdro/weight/0"), 2U);
  EXPECT_NEAR(policy->weight({0}), std::exp(2 * 0.12), 1e-15);  // one knob for both
}

}  // namespace
}  // namespace rollcall::scheduling
