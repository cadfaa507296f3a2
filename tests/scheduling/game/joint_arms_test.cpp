// The dynamic program against trying every combination.
#include "scheduling/game/joint_arms.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>

namespace rollcall::scheduling {
namespace {

TEST(JointArms, ByHand) {
  const std::vector<std::int64_t> count = {2, 3, 4};
  const std::vector<BinArms> bins = {{2, {std::log(0.2), std::log(0.3), std::log(0.5)}},
                                     {1, {std::log(0.6), std::log(0.1), std::log(0.3)}}};
  // 10 = 2 * 3 + 4 with probability 0.3 * 0.3, or 2 * 4 + 2 with 0.5 * 0.6.
  auto joint = most_probable_arms(bins, count, 10);
  EXPECT_EQ(joint.arm, (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(joint.total, 10);
  // 9 = 2 * 3 + 3 only, though it is the least probable of all.
  EXPECT_EQ(most_probable_arms(bins, count, 9).arm, (std::vector<std::size_t>{1, 1}));
  // 13 is out of reach; 12 is the nearest.
  EXPECT_EQ(most_probable_arms(bins, count, 13).total, 12);
  EXPECT_EQ(most_probable_arms(bins, count, 1).total, 6);
  // Bins of 3 and 6 prompts reach multiples of 3 only: 31 is nearest to 30.
  EXPECT_EQ(most_probable_arms({{3, {0, 0, 0}}, {6, {0, 0, 0}}}, count, 31).total, 30);
}

struct Case {
  std::vector<BinArms> bins;
  std::vector<std::int64_t> count;
  std::int64_t budget = 0;
};

// The best of all combinations: nearest total, then highest score.
std::pair<std::int64_t, double> by_trying_all(const Case& c, std::size_t bin, std::int64_t spent,
                                              double score) {
  if (bin == c.bins.size()) return {-std::abs(spent - c.budget), score};
  std::pair<std::int64_t, double> best = {-(1LL << 60), 0.0};
  for (std::size_t a = 0; a < c.count.size(); ++a) {
    best = std::max(best, by_trying_all(c, bin + 1, spent + c.bins[bin].prompts * c.count[a],
                                        score + c.bins[bin].score[a]));
  }
  return best;
}

TEST(JointArms, EqualsTryingAllCombinations) {
  EXPECT_TRUE(rc::check("nearest total, then most probable", [] {
    Case c;
    const auto arms = std::size_t(*rc::gen::inRange(1, 6));
    for (std::size_t a = 0; a < arms; ++a) c.count.push_back(1 + std::int64_t(a));
    const auto bins = std::size_t(*rc::gen::inRange(1, 5));
    std::int64_t prompts = 0;
    for (std::size_t b = 0; b < bins; ++b) {
      c.bins.push_back({*rc::gen::inRange<std::int64_t>(0, 6), {}});
      prompts += c.bins.back().prompts;
      // whole numbers add without rounding
      for (std::size_t a = 0; a < arms; ++a)
        c.bins.back().score.push_back(-double(*rc::gen::inRange(0, 64)));
    }
    c.budget = *rc::gen::inRange<std::int64_t>(0, prompts * std::int64_t(arms) + 3);
    const JointArms joint = most_probable_arms(c.bins, c.count, c.budget);
    std::int64_t total = 0;
    double score = 0.0;
    for (std::size_t b = 0; b < bins; ++b) {
      total += c.bins[b].prompts * c.count[joint.arm[b]];
      score += c.bins[b].score[joint.arm[b]];
    }
    RC_ASSERT(joint.total == total);
    RC_ASSERT(by_trying_all(c, 0, 0, 0.0) == std::pair(-std::abs(total - c.budget), score));
  }));
}

}  // namespace
}  // namespace rollcall::scheduling
