// Thinning keeps what a reader of a chart relies on: spikes in curves, sums in stacks, gaps where
// there is no number.
#include "report/series.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::report {
namespace {

Series any_series() {
  Series s{"s", "", {}, {}};
  const auto n = *rc::gen::inRange(0, 2000);
  const auto seed = *rc::gen::inRange(1, 1000);
  for (int i = 0; i < n; ++i) {
    s.x.push_back(i);
    s.y.push_back((i * seed) % 13 == 0 ? std::nan("") : std::sin(double(i) * seed));
  }
  return s;
}

TEST(Series, ExtremesSurviveThinning) {
  EXPECT_TRUE(rc::check("least, greatest, order, size", [] {
    const Series s = any_series(), t = thin_extremes(s, 100);
    RC_ASSERT(t.x.size() <= 200U);
    RC_ASSERT(std::is_sorted(t.x.begin(), t.x.end()));
    const auto extremes = [](const std::vector<double>& y) {
      double low = 9, high = -9;
      for (const double v : y) {
        if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
      }
      return std::pair(low, high);
    };
    RC_ASSERT(extremes(s.y) == extremes(t.y));
  }));
}

TEST(Series, MeansOfStacksStillAddUp) {
  Series a{"a", "", {}, {}}, b = a;
  for (int i = 0; i < 1000; ++i) {
    a.x.push_back(i), b.x.push_back(i);
    a.y.push_back(0.3 + 0.2 * std::sin(i)), b.y.push_back(1.0 - a.y.back());
  }
  const Series ta = thin_means(a, 70), tb = thin_means(b, 70);
  ASSERT_EQ(ta.x.size(), 70U);
  for (std::size_t i = 0; i < 70; ++i) EXPECT_NEAR(ta.y[i] + tb.y[i], 1.0, 1e-12);
}

TEST(Series, GapsStayGaps) {
  Series s{"s", "", {}, {}};
  for (int i = 0; i < 100; ++i) s.x.push_back(i), s.y.push_back(i < 50 ? 1.0 : std::nan(""));
  const Series t = thin_extremes(s, 10), m = running_mean(s, 5);
  EXPECT_TRUE(std::isnan(t.y.back()));
  EXPECT_TRUE(std::isnan(m.y.back()));
  EXPECT_EQ(m.y[50], 1.0);  // a neighbour within the window
}

TEST(Series, RunningMeanHandWorked) {
  const Series m = running_mean({"s", "", {0, 1, 2, 3}, {1, 2, 6, 7}}, 3);
  EXPECT_EQ(m.y, (std::vector<double>{1.5, 3, 5, 6.5}));
}

TEST(Series, PicksPhaseAndMetric) {
  const std::vector<MetricRow> rows = {
      {"sft", 0, {{"loss", 3}}}, {"train", 0, {{"loss", 1}, {"r", 2}}}, {"train", 1, {{"r", 4}}}};
  EXPECT_EQ(series_of(rows, "train", "r").y, (std::vector<double>{2, 4}));
  EXPECT_EQ(series_of(rows, "train", "loss").x, (std::vector<double>{0}));
  EXPECT_TRUE(series_of(rows, "eval", "r").x.empty());
  EXPECT_EQ(names_with(rows, "train", ""), (std::vector<std::string>{"loss", "r"}));
}

}  // namespace
}  // namespace rollcall::report
