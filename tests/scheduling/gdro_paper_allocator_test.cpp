// The paper's own bandits over counts: price by hand, what they learn, and that always the most
// probable arms try no other.
#include "base/text/json.hpp"
#include "scheduling/allocator/bin_square_root.hpp"
#include "scheduling/allocator/gdro_paper.hpp"

#include "base/errors/error.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

namespace rollcall::scheduling {
namespace {

TEST(ShadowPrice, ByHand) {
  EXPECT_NEAR(shadow_price(0.1, 0.05, 4.5, 4.0), 0.125, 1e-15);
  EXPECT_NEAR(shadow_price(0.1, 0.05, 2.0, 4.0), 0.0, 1e-15);
}

template <class A>
struct Setting {
  explicit Setting(const std::vector<std::string>& settings = {})
      : knowledge({.level = std::vector<std::int32_t>(16, 2), .prior = prior()}, 1),
        allocator(knowledge) {
    ConfigSchema schema;
    knowledge.bind(schema);
    allocator.bind(schema);
    for (const auto& setting : settings) schema.set(setting);
    knowledge.start();
  }
  static std::vector<float> prior() {  // prompts 0..7 in bin 0, 8..15 in bin 5
    std::vector<float> p(16, 0.0F);
    std::fill(p.begin() + 8, p.end(), 1.0F);
    return p;
  }
  /// One step over all prompts. Outcomes keep every prompt in its bin; the reward is another
  /// matter.
  std::pair<std::int64_t, std::int64_t> step(
      std::uint64_t step, std::int64_t budget,
      const std::function<double(std::uint64_t prompt, std::int64_t n)>& reward,
      std::uint32_t undecided = 0) {
    std::vector<GroupPlan> groups;
    for (std::uint64_t p = 0; p < 16; ++p) groups.push_back({.id = {step, {p}, 0}});
    const auto n = allocator.counts(
        {.step = step, .prompts = 16, .budget = budget, .min_rollouts = 1, .max_rollouts = 16},
        groups);
    std::vector<GroupReport> reports;
    for (std::uint64_t p = 0; p < 16; ++p) {
      GroupReport r = no_results(groups[p].id, 2);
      r.dropped = undecided;
      r.correct.assign(std::size_t(n[p] - undecided), p >= 8);
      r.rewards.assign(r.correct.size(), reward(p, n[p]));
      reports.push_back(r);
    }
    knowledge.learn(reports);
    allocator.learn(reports);
    return {n.front(), n.back()};
  }
  Knowledge knowledge;
  A allocator;
};

// Bin 0 does better the more rollouts it gets, bin 5 does not care: with 4 on average of arms 2 to
// 6, (6, 2) is best.
double worth(std::uint64_t prompt, std::int64_t n) {
  return prompt < 8 ? double(n - 2) / 4.0 : 0.5;
}

TEST(PaperGdroAllocator, DrawnArmsFindWhereRolloutsPay) {
  Setting<PaperGdroAllocator> drawn(
      {"arm_signal=failure_rate", "arm_horizon=4000", "most_arm=6", "arm_draw=1"}),
      fixed({"arm_signal=failure_rate", "arm_horizon=4000", "most_arm=6"});
  std::set<std::int64_t> tried_drawn, tried_fixed;
  double early = 0.0, late = 0.0;
  for (std::uint64_t step = 0; step < 4000; ++step) {
    const auto [hard, easy] = drawn.step(step, 4 * 16, worth);
    ASSERT_EQ(hard + easy, 8);
    if (step < 500) early += double(hard) / 500.0;
    if (step >= 3500) late += double(hard) / 500.0;
    tried_drawn.insert(hard);
    if (step < 500) tried_fixed.insert(fixed.step(step, 4 * 16, worth).first);
  }
  EXPECT_GT(late, 5.0);
  EXPECT_EQ(tried_drawn.size(), 5U);
  EXPECT_EQ(tried_fixed.size(), 1U);  // always the most probable arms: the first ones stay so,
                                      // since nothing else is ever tried
}

TEST(PaperGdroAllocator, WhatIsDrawnCountsWithAVerdictOrWithout) {
  Setting<PaperGdroAllocator> decided({"arm_signal=failure_rate"}),
      partly({"arm_signal=failure_rate"});
  const auto half = [](std::uint64_t, std::int64_t) { return 0.5; };
  for (std::uint64_t step = 0; step < 5; ++step) {
    decided.step(step, 2 * 16, half);
    partly.step(step, 2 * 16, half, 1);
  }
  EXPECT_EQ(partly.allocator.save(), decided.allocator.save());
  const auto metrics = bin_metrics(partly.knowledge);
  EXPECT_NE(std::find(metrics.begin(), metrics.end(),
                      std::pair<std::string, double>("gdro/budget/0", 2.0)),
            metrics.end());
}

TEST(PaperGdroAllocator, ThePriceFollowsWhatArmsSpendOverTheBudget) {
  Setting<PaperGdroAllocator> met, missed;
  for (std::uint64_t step = 0; step < 3; ++step) met.step(step, 4 * 16, worth);
  EXPECT_EQ(met.allocator.price(), 0.0);
  missed.step(0, 1 * 16, worth);  // two rollouts is the smallest arm
  EXPECT_NEAR(missed.allocator.price(), 0.05 * (2 - 1), 1e-15);
  missed.step(1, 14 * 16, worth);  // and twelve the largest
  EXPECT_NEAR(missed.allocator.price(), 0.05 * (2 - 1) + 0.05 * (12 - 14), 1e-15);
}

TEST(PaperGdroAllocator, GainsBeyondTheSignalsRangeAreCounted) {
  Setting<PaperGdroAllocator> s({"arm_signal=failure_rate"});
  const auto clipped = [&](double reward) {
    s.step(0, 4 * 16, [&](std::uint64_t, std::int64_t) { return reward; });
    for (const auto& [name, value] : s.allocator.metrics())
      if (name == "gdro/clipped_gains") return value;
    return 0.0;
  };
  EXPECT_EQ(clipped(3.0), 2.0) << "the mean reward less 1 is 2 in both bins, and 0 is the most";
  EXPECT_EQ(clipped(1.0), 0.0);
  EXPECT_EQ(clipped(-0.5), 2.0) << "and -1 the least";
  EXPECT_EQ(clipped(0.0), 0.0);
}

TEST(PaperGdroAllocator, RefusesStatesAndArmsThatCannotBe) {
  Setting<PaperGdroAllocator> s;
  EXPECT_THROW(s.allocator.load({{"price", 0.0}, {"log_weights", {{0.0, 0.0}}}}), StorageError);
  Setting<PaperGdroAllocator> upside_down({"least_arm=5", "most_arm=3"});
  EXPECT_THROW(upside_down.step(0, 64, worth), ConfigError);
}

TEST(BinSquareRoot, ByHand) {
  Setting<BinSquareRootAllocator> s;
  s.allocator.load({{"variance", {1.0, 0.25, 0.25, 0.25, 0.25, 9.0}}});
  // q = (1/2, 1/2), v = (1, 9), n_bar = 4: n_b = 4 sqrt(v_b) / (1/2 + 3/2) = (2, 6) (eq. 30)
  const auto [hard, easy] = s.step(0, 4 * 16, [](std::uint64_t, std::int64_t) { return 0.0; });
  EXPECT_EQ(hard, 2);
  EXPECT_EQ(easy, 6);
  // All rewards were equal: v <- 0.88 v.
  EXPECT_EQ(s.allocator.save().at("variance"),
            (nlohmann::json{0.88, 0.25, 0.25, 0.25, 0.25, 0.88 * 9.0}));
  EXPECT_THROW(s.allocator.load({{"variance", {1.0}}}), StorageError);
}

}  // namespace
}  // namespace rollcall::scheduling
