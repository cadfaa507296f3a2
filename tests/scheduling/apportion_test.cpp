// Apportionment: hand-worked counts, and exactness, bounds, order and fairness for any weights.
#include "base/errors/error.hpp"
#include "scheduling/scheduler.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace rollcall::scheduling {
namespace {

using Counts = std::vector<std::int64_t>;

TEST(Apportion, HandWorked) {
  EXPECT_EQ(apportion({1, 1, 1}, 9, 1, 9), (Counts{3, 3, 3}));
  EXPECT_EQ(apportion({1, 1, 1}, 10, 1, 9), (Counts{4, 3, 3}));   // ties by index
  EXPECT_EQ(apportion({1, 2, 3}, 12, 0, 12), (Counts{2, 4, 6}));  // exact quotas
  // quotas 3.5, 2.1, 1.4: whole parts leave one, the largest remainder is .5
  EXPECT_EQ(apportion({5, 3, 2}, 7, 0, 7), (Counts{4, 2, 1}));
  // the first is full, the others share the rest
  EXPECT_EQ(apportion({8, 1, 1}, 12, 1, 6), (Counts{6, 3, 3}));
  EXPECT_EQ(apportion({8, 1, 1}, 12, 2, 12), (Counts{8, 2, 2}));  // the others are held up
  // quotas 22/3, 11/3, 3: the larger remainder wins
  EXPECT_EQ(apportion({4, 2, 1}, 14, 3, 14), (Counts{7, 4, 3}));
}

TEST(Apportion, ZerosGetTheirFloorThenWhatNobodyElseCanTake) {
  EXPECT_EQ(apportion({0, 1, 0}, 10, 1, 8), (Counts{1, 8, 1}));
  EXPECT_EQ(apportion({0, 1, 0}, 15, 1, 8), (Counts{4, 8, 3}));
  EXPECT_EQ(apportion({0, 0, 0, 0}, 6, 0, 8), (Counts{2, 2, 1, 1}));
  EXPECT_EQ(apportion({}, 0, 1, 8), Counts{});
}

TEST(Apportion, HugeRatiosStayExact) {
  const double least = std::numeric_limits<double>::denorm_min(),
               most = std::numeric_limits<double>::max();
  EXPECT_EQ(apportion({most, least, 1}, 30, 2, 20), (Counts{20, 2, 8}));
  EXPECT_EQ(apportion({1e150, 1e-40}, 30, 2, 20), (Counts{20, 10}));
  EXPECT_EQ(apportion({least, least}, 5, 0, 5), (Counts{3, 2}));
}

TEST(Apportion, RefusesWhatCannotBe) {
  const double nan = std::nan("");
  EXPECT_THROW(apportion({1, nan}, 4, 1, 4), NumericsError);
  EXPECT_THROW(apportion({1, -1}, 4, 1, 4), NumericsError);
  EXPECT_THROW(apportion({1, INFINITY}, 4, 1, 4), NumericsError);
  EXPECT_THROW(apportion({1, 1}, 4, 3, 2), ConfigError);
  EXPECT_THROW(apportion({1, 1}, 1, 1, 4), ConfigError);
  EXPECT_THROW(apportion({}, 1, 0, 4), ConfigError);
  try {
    apportion({1, 1, 1}, 100, 2, 8);
    FAIL() << "an infeasible budget was accepted";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("from 6 to 24"), std::string::npos) << e.what();
  }
}

struct Problem {
  std::vector<double> weight;
  std::int64_t total = 0, low = 0, high = 0;
};

[[maybe_unused]] void showValue(const Problem& p, std::ostream& os) {
  os << "total " << p.total << " in [" << p.low << ", " << p.high << "], weights:";
  for (const double w : p.weight) os << ' ' << w;
}

// Weights of every kind: equal, small integers (many ties), smooth, zeros, and magnitudes across
// the whole range of a double.
double any_weight() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: return 0.0;
    case 1: return 1.0;
    case 2: return double(*rc::gen::inRange(1, 6));
    case 3: return double(*rc::gen::inRange(1, 1 << 30)) / double(1 << 30);
    default:
      return std::ldexp(1.0 + double(*rc::gen::inRange(0, 1000)) / 1000.0,
                        *rc::gen::inRange(-1000, 1000));
  }
}

Problem any_problem() {
  Problem p;
  p.weight.resize(std::size_t(*rc::gen::inRange(1, 24)));
  for (double& w : p.weight) w = any_weight();
  p.low = *rc::gen::inRange(0, 5);
  p.high = p.low + *rc::gen::element(0, 1, 3, 17, 1000);
  const auto n = std::int64_t(p.weight.size());
  p.total = *rc::gen::inRange<std::int64_t>(p.low * n, p.high * n + 1);
  return p;
}

void check(const Problem& p) {
  const Counts count = apportion(p.weight, p.total, p.low, p.high);
  RC_ASSERT(count.size() == p.weight.size());
  RC_ASSERT(std::accumulate(count.begin(), count.end(), std::int64_t{0}) == p.total);
  for (std::size_t i = 0; i < count.size(); ++i) {
    RC_ASSERT(p.low <= count[i] && count[i] <= p.high);
    for (std::size_t j = 0; j < count.size(); ++j) {
      // more weight never gets less
      if (p.weight[i] > p.weight[j]) RC_ASSERT(count[i] >= count[j]);
      // ties by index
      if (p.weight[i] == p.weight[j] && i < j)
        RC_ASSERT(count[i] - count[j] == 0 || count[i] - count[j] == 1);
      // Inside the bounds counts follow weights: n_i / n_j = w_i / w_j up to the rounding of both.
      const bool inside = p.low + 1 < count[i] && count[i] + 1 < p.high && p.low + 1 < count[j] &&
                          count[j] + 1 < p.high;
      const double ratio = p.weight[j] > 0 ? p.weight[i] / p.weight[j] : 0.0;
      if (inside && ratio > 1e-3 && ratio < 1e3)
        RC_ASSERT(std::abs(double(count[i]) - ratio * double(count[j])) <= 1.001 * (1.0 + ratio));
    }
  }
}

TEST(Apportion, AnyProblemIsSolvedExactly) {
  // 100 cases of 120 problems: 12,000 in all.
  EXPECT_TRUE(rc::check("exact total, bounds, order, ties, proportion", [] {
    for (int i = 0; i < 120; ++i) {
      const Problem p = any_problem();
      check(p);
    }
  }));
}

TEST(Apportion, LargeStepsAreExactToo) {
  std::vector<double> weight(4096);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = 1.0 / double(i + 1);
  const Counts count = apportion(weight, 65536, 2, 64);
  EXPECT_EQ(std::accumulate(count.begin(), count.end(), std::int64_t{0}), 65536);
  EXPECT_EQ(count.front(), 64);
  // Water level L: 64 for i < L/64, L/i beyond; L (1 + ln(64 * 4096 / L)) = 65536 gives L = 17,740,
  // so the last gets 4.33.
  EXPECT_EQ(count.back(), 4);
}

}  // namespace
}  // namespace rollcall::scheduling
