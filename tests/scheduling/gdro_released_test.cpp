// The rows of the released code by hand: weights of mean 1, scores that begin with the first loss,
// prompts set apart, and counts by sums of losses.
#include "scheduling/allocator/gdro_released.hpp"
#include "base/text/json.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace rollcall::scheduling {
namespace {

GroupReport report(std::uint64_t step, std::uint64_t prompt, bool right, double loss = NAN) {
  GroupReport r = no_results({step, {prompt}, 0}, 2);
  r.correct.assign(2, right), r.rewards.assign(2, right ? 1.0 : 0.0), r.lengths.assign(2, 4);
  r.loss = loss;
  return r;
}

/// Prompts 0 to 2 always fail, prompt 3 never does; priors say so from the start.
std::unique_ptr<Scheduler> three_and_one(const std::string& row, const Knobs& knobs) {
  return make_scheduler(
      {row}, knobs,
      {.level = std::vector<std::int32_t>(4, 2), .prior = {0.05F, 0.05F, 0.05F, 0.95F}}, 1);
}
std::vector<GroupReport> step_of(std::uint64_t step,
                                 std::vector<double> loss = {NAN, NAN, NAN, NAN}) {
  return {report(step, 0, false, loss[0]), report(step, 1, false, loss[1]),
          report(step, 2, false, loss[2]), report(step, 3, true, loss[3])};
}
std::vector<double> weights(Scheduler& policy, const std::vector<GroupReport>& reports) {
  std::vector<double> w(reports.size(), 1.0);
  for (const auto& g :
       policy.settle({.step = reports[0].id.step, .prompts = 4, .budget = 8}, reports).groups)
    w[g.id.prompt.value] = g.weight;
  return w;
}

TEST(ReleasedGdro, WeightsByHand) {
  const auto policy = three_and_one("gdro_released", {});
  for (const double w : weights(*policy, step_of(0))) EXPECT_EQ(w, 1.0);
  policy->end_step(step_of(0, {0.1, 0.2, 0.3, 0.4}));
  EXPECT_EQ(policy->bin({0}), 0);
  EXPECT_EQ(policy->bin({3}), 6);  // the sixth edge makes a seventh bin
  // S = 0.2 / 0.75 and 0.4 / 0.25: q = 0.297989 and 0.702011 of the two bins that are there,
  // 0.398994 in the mean of the step.
  auto w = weights(*policy, step_of(1));
  EXPECT_NEAR(w[0], 0.746850, 1e-6);
  EXPECT_NEAR(w[3], 1.759451, 1e-6);
  EXPECT_NEAR(w[0] + w[1] + w[2] + w[3], 4.0, 1e-12);
  policy->end_step(step_of(1, {0.3, 0.2, 0.1, 0.0}));
  w = weights(*policy, step_of(2));  // S = 0.2 / 0.75 still, and 0.88 x 1.6
  EXPECT_NEAR(w[0], 0.786953, 1e-6);
  EXPECT_NEAR(w[3], 1.639142, 1e-6);
}

TEST(ReleasedGdro, ShareCorrectedABinWeighsQ) {
  const auto policy = three_and_one("gdro_released", {{"weigh_by", "probability_over_share"}});
  policy->end_step(step_of(0, {0.1, 0.2, 0.3, 0.4}));
  const auto w = weights(*policy, step_of(1));
  EXPECT_NEAR((w[0] + w[1] + w[2]) / 4, 0.297989, 1e-6);
  EXPECT_NEAR(w[3] / 4, 0.702011, 1e-6);
  const auto capped =
      three_and_one("gdro_released", {{"weigh_by", "probability_over_share"}, {"weight_cap", "2"}});
  capped->end_step(step_of(0, {0.1, 0.2, 0.3, 0.4}));
  EXPECT_EQ(weights(*capped, step_of(1))[3], 2.0);
}

TEST(ReleasedGdro, ExtremesHaveAClassOfTheirOwn) {
  const auto policy = three_and_one(
      "gdro_released",
      {{"bin_edges", "[0.4, 0.75]"}, {"history_window", "50"}, {"exclude_extremes", "true"}});
  EXPECT_EQ(policy->bin({0}), 0);
  EXPECT_EQ(policy->bin({3}), 2);
  policy->end_step(step_of(0, {0, 0, 0, 0}));
  for (std::uint64_t p = 0; p < 4; ++p) EXPECT_EQ(policy->bin({p}), 3) << p;  // 0 % and 100 % alike
  policy->end_step({report(1, 0, true, 0.0), report(1, 3, false, 0.0)});
  EXPECT_EQ(policy->bin({0}), 1);  // 1 of 2
  EXPECT_EQ(policy->bin({3}), 1);
  EXPECT_EQ(policy->bin({1}), 3);
}

TEST(ReleasedGdro, APromptWithoutHistoryCountsAsFailed) {
  const auto policy = make_scheduler({"gdro_released"}, {}, {.level = {1, 1}}, 1);
  EXPECT_EQ(policy->bin({0}), 0);
  EXPECT_EQ(make_scheduler({"gdro_released"}, {{"exclude_extremes", "true"}}, {.level = {1, 1}}, 1)
                ->bin({0}),
            7);
}

/// The allocator over 8 prompts of bin 0 and 8 of bin 5, or as many as asked for.
struct Counts {
  explicit Counts(std::size_t hard = 8, std::size_t easy = 8)
      : knowledge({.level = std::vector<std::int32_t>(hard + easy, 2), .prior = prior(hard, easy)},
                  1),
        allocator(knowledge) {
    ConfigSchema schema;
    knowledge.bind(schema);
    allocator.bind(schema);
    for (const std::string setting :
         {"arm_signal=surrogate_loss", "signal=surrogate_loss", "score_start=first"})
      schema.set(setting);
    knowledge.start();
  }
  static std::vector<float> prior(std::size_t hard, std::size_t easy) {
    std::vector<float> p(hard, 0.0F);
    p.insert(p.end(), easy, 1.0F);
    return p;
  }
  std::vector<std::int64_t> decide(std::uint64_t step, std::int64_t budget,
                                   bool backwards = false) {
    std::vector<GroupPlan> groups;
    for (std::uint64_t p = 0; p < knowledge.size(); ++p) groups.push_back({.id = {step, {p}, 0}});
    if (backwards) std::reverse(groups.begin(), groups.end());
    return allocator.counts({.step = step,
                             .prompts = std::int64_t(groups.size()),
                             .budget = budget,
                             .min_rollouts = 1,
                             .max_rollouts = 16},
                            groups);
  }
  void learn(std::uint64_t step, double hard, double easy) {
    std::vector<GroupReport> reports;
    for (std::uint64_t p = 0; p < knowledge.size(); ++p) {
      const bool right = knowledge.prompts.prior[p] > 0.5F;
      reports.push_back(report(step, p, right, right ? easy : hard));
    }
    knowledge.learn(reports);
    allocator.learn(reports);
  }
  Knowledge knowledge;
  ReleasedGdroAllocator allocator;
};

TEST(ReleasedGdro, ACountThatLosesGainsByHand) {
  Counts c;
  const auto n = c.decide(0, 64);
  ASSERT_EQ(n.front() + n.back(), 8);
  c.learn(0, 0.5, -0.5);
  // 0.99 e^0.325 / (e^0.325 + 10) + 0.01 / 11
  EXPECT_NEAR(c.allocator.probabilities(0)[std::size_t(n.front() - 2)], 0.121270, 1e-6);
  // with e^-0.325
  EXPECT_NEAR(c.allocator.probabilities(5)[std::size_t(n.back() - 2)], 0.067619, 1e-6);
  EXPECT_NEAR(c.allocator.probabilities(1)[0], 1.0 / 11, 1e-15);
}

TEST(ReleasedGdro, TiesGoToTheSmallestCountsOfTheBinThatComesFirst) {
  Counts c;
  EXPECT_EQ(c.decide(0, 64).front(), 2);        // of prompt 0
  EXPECT_EQ(c.decide(1, 64, true).front(), 2);  // of prompt 15, in the other bin
}

TEST(ReleasedGdro, OnPolicyItPlaysOnForEver) {
  Counts zero, loses;
  std::set<std::int64_t> tried_at_zero, tried_when_it_wins;
  for (std::uint64_t step = 0; step < 50; ++step) {
    tried_at_zero.insert(zero.decide(step, 64).front());
    tried_when_it_wins.insert(loses.decide(step, 64).front());
    zero.learn(step, 0.0, 0.0);
    loses.learn(step, -0.1, -0.1);
  }
  EXPECT_EQ(tried_at_zero.size(), 1U);
  EXPECT_GT(tried_when_it_wins.size(), 3U);
}

TEST(ReleasedGdro, WithoutAnExactCombinationTheRestGoesByQ) {
  Counts c(2, 4);
  c.learn(0, 1.0, 0.0);            // S = (1, 0)
  const auto n = c.decide(1, 25);  // two and four prompts cannot spend an odd number
  // 2 each, 13 more by q = 0.6577 and 0.3423: 3.17 and 1.67
  EXPECT_EQ(n, (std::vector<std::int64_t>{5, 5, 4, 4, 4, 3}));
  c.learn(1, 1.0, 0.0);
  // such a step teaches nothing of counts
  for (const double p : c.allocator.probabilities(0)) EXPECT_NEAR(p, 1.0 / 11, 1e-15);
  // below the smallest count
  EXPECT_EQ(c.decide(2, 6), std::vector<std::int64_t>(6, 1));
}

}  // namespace
}  // namespace rollcall::scheduling
