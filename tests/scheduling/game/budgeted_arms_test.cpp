// Arms conditioned on their total against trying every combination: mass, marginals, and
// frequencies of the draws.
#include "scheduling/game/budgeted_arms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace rollcall::scheduling {
namespace {

struct Case {
  std::vector<BudgetedArms::Bin> bins;
  std::int64_t low = 2, budget = 0, slack = 0;
};

/// Combination -> weight, of those within the slack.
using Joint = std::map<std::vector<std::size_t>, double>;

void try_all(const Case& c, std::vector<std::size_t>& arm, std::int64_t spent, double weight,
             Joint& joint) {
  if (arm.size() == c.bins.size()) {
    if (std::abs(spent - c.budget) <= c.slack && weight > 0) joint[arm] = weight;
    return;
  }
  const auto& bin = c.bins[arm.size()];
  for (std::size_t a = 0; a < bin.weight.size(); ++a) {
    arm.push_back(a);
    try_all(c, arm, spent + bin.prompts * (c.low + std::int64_t(a)), weight * bin.weight[a], joint);
    arm.pop_back();
  }
}

Joint by_trying_all(const Case& c) {
  Joint joint;
  std::vector<std::size_t> arm;
  try_all(c, arm, 0, 1.0, joint);
  return joint;
}

double sum_of(const Joint& joint) {
  double sum = 0.0;
  for (const auto& [arm, weight] : joint) sum += weight;
  return sum;
}

TEST(BudgetedArms, ByHand) {
  // Two prompts and one, arms 2 to 4, 10 rollouts: 3 3 4 with weight 0.3 * 0.3 or 4 4 2 with 0.5 *
  // 0.6.
  BudgetedArms arms({{2, {0.2, 0.3, 0.5}}, {1, {0.6, 0.1, 0.3}}}, 2, 10, 0);
  EXPECT_NEAR(arms.mass(0), 0.39, 1e-15);
  arms.condition(0);
  EXPECT_NEAR(arms.marginals()[0][1], 0.09 / 0.39, 1e-15);
  EXPECT_NEAR(arms.marginals()[0][2], 0.30 / 0.39, 1e-15);
  EXPECT_EQ(arms.marginals()[0][0], 0.0);
  EXPECT_NEAR(arms.marginals()[1][0], 0.30 / 0.39, 1e-15);
  EXPECT_NEAR(BudgetedArms({{2, {0.2, 0.3, 0.5}}, {1, {0.6, 0.1, 0.3}}}, 2, 11, 1).mass(1),
              0.39 + 0.05 + 0.15, 1e-15);
  EXPECT_EQ(BudgetedArms({{2, {1, 1, 1}}}, 2, 9, 0).mass(0), 0.0);
  EXPECT_EQ(BudgetedArms({{2, {1, 1, 1}}}, 2, 1, 0).mass(0), 0.0);
}

TEST(BudgetedArms, EqualsTryingAllCombinations) {
  EXPECT_TRUE(rc::check("mass and marginals", [] {
    Case c;
    const auto arms = std::size_t(*rc::gen::inRange(1, 6)),
               bins = std::size_t(*rc::gen::inRange(1, 5));
    std::int64_t prompts = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      c.bins.push_back({*rc::gen::inRange<std::int64_t>(1, 6), {}});
      prompts += c.bins.back().prompts;
      for (std::size_t a = 0; a < arms; ++a)
        c.bins.back().weight.push_back(std::exp(-double(*rc::gen::inRange(0, 30))));
    }
    c.low = *rc::gen::inRange(1, 4);
    c.budget = *rc::gen::inRange<std::int64_t>(0, prompts * (c.low + std::int64_t(arms)) + 3);
    c.slack = *rc::gen::inRange(0, 4);
    const Joint joint = by_trying_all(c);
    const double sum = sum_of(joint);
    BudgetedArms under_test(c.bins, c.low, c.budget, c.slack + 1);
    RC_ASSERT(std::abs(under_test.mass(c.slack) - sum) <= 1e-12 * sum);
    if (sum == 0.0) return;
    under_test.condition(c.slack);
    for (std::size_t b = 0; b < bins; ++b) {
      for (std::size_t a = 0; a < arms; ++a) {
        double expected = 0.0;
        for (const auto& [arm, weight] : joint) expected += arm[b] == a ? weight / sum : 0.0;
        RC_ASSERT(std::abs(under_test.marginals()[b][a] - expected) < 1e-12);
      }
    }
  }));
}

TEST(BudgetedArms, DrawsFollowTheConditionedWeights) {
  const Case c{
      {{2, {1.0, 0.5, 2.0, 0.1}}, {3, {0.3, 1.0, 1.0, 2.0}}, {1, {1.0, 1.0, 0.0, 3.0}}}, 2, 20, 1};
  BudgetedArms arms(c.bins, c.low, c.budget, c.slack);
  arms.condition(c.slack);
  const Joint joint = by_trying_all(c);
  const double sum = sum_of(joint);
  Joint times;
  constexpr int kDraws = 50'000;
  for (std::uint64_t i = 0; i < kDraws; ++i)
    times[arms.draw({1, RandomPurpose::test, i}, 1)] += 1.0;
  double chi = 0.0;
  for (const auto& [arm, n] : times) ASSERT_TRUE(joint.contains(arm));
  for (const auto& [arm, weight] : joint)
    chi += std::pow(times[arm] - kDraws * weight / sum, 2) / (kDraws * weight / sum);
  // four deviations over the mean of chi squared; the seed is fixed
  EXPECT_LT(chi, double(joint.size()) + 4 * std::sqrt(2.0 * double(joint.size())));
}

TEST(BudgetedArms, ManyBinsStayWithinTheRangeOfADouble) {
  std::vector<BudgetedArms::Bin> bins(255, {1, std::vector<double>(200, 1.0)});
  BudgetedArms equal(bins, 1, 255 * 100, 0);
  equal.condition(0);
  EXPECT_GT(equal.mass(0), 1e300);
  for (auto& bin : bins) bin.weight.assign(200, 1e-9);
  BudgetedArms tiny(bins, 1, 255 * 100, 0);
  tiny.condition(0);
  for (const std::size_t a : {0U, 99U, 199U})
    EXPECT_NEAR(tiny.marginals()[7][a], equal.marginals()[7][a], 1e-12);
  EXPECT_EQ(equal.draw({1, RandomPurpose::test, 3}, 1), tiny.draw({1, RandomPurpose::test, 3}, 1));
}

}  // namespace
}  // namespace rollcall::scheduling
