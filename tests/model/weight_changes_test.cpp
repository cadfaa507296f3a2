// Which weights moved, means of models, and the largest moves alone.
#include "model/tensors/weight_changes.hpp"
#include "model/small_models.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace rollcall::model::testing {
namespace {

/// Tensors of four and of two weights with padding between them.
WeightLayout two_tensors() {
  return {{{{0}, "a", {4}, 0, 4, true}, {{1}, "b", {2}, 16, 2, false}}, 32};
}

std::vector<float> filled(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> all(32, 0.0F);
  std::copy(a.begin(), a.end(), all.begin());
  std::copy(b.begin(), b.end(), all.begin() + 16);
  return all;
}

TEST(WeightChanges, CountWhatMovedByMoreThanTheTolerance) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto before = filled({1, 1, 1, nan}, {0, 0}),
             after = filled({1, 1.5F, 1.25F, nan}, {nan, -1});
  const auto found = changes(two_tensors(), before, after, 0.25);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].changed, 1);  // of 0.5 and 0.25, the first; the NaN is the same
  EXPECT_DOUBLE_EQ(found[0].sparsity(), 0.75);
  EXPECT_EQ(found[1].changed, 2);
  for (const auto& change : changes(two_tensors(), after, after, 0.0))
    EXPECT_EQ(change.sparsity(), 1.0);
}

TEST(WeightChanges, KeepTheLargestMovesScaled) {
  const WeightLayout layout{{{{0}, "a", {4}, 0, 4, true}}, 16};
  const std::vector<float> before(16, 0.0F);
  std::vector<float> after = before;
  for (std::size_t i = 0; i < 4; ++i) after[i] = std::vector<float>{4, 1, -3, 0.5F}[i];
  std::vector<float> half = after, none = after, all = after;
  keep_largest_changes(layout, before, 0.25, 0.7, after);  // DLER: one of four, times 0.7
  EXPECT_FLOAT_EQ(after[0], 2.8F);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(after[i], 0.0F);
  keep_largest_changes(layout, before, 0.5, 1.0, half);
  EXPECT_EQ(half[2], -3.0F);
  EXPECT_EQ(half[1], 0.0F);
  keep_largest_changes(layout, before, 0.0, 1.0, none);
  EXPECT_EQ(none, before);
  const std::vector<float> untouched = all;
  keep_largest_changes(layout, before, 1.0, 1.0, all);
  EXPECT_EQ(all, untouched);
}

TEST(WeightChanges, KeepExactlyTheShareAmongEqualMovesAndOverAllTensors) {
  const auto before = filled({0, 0, 0, 0}, {0, 0});
  auto after = filled({1, -1, 1, 1}, {5, 1});
  keep_largest_changes(two_tensors(), before, 0.5, 1.0, after);
  EXPECT_EQ(after, filled({1, -1, 0, 0}, {5, 0}));  // three of six: the largest, and of the equal
                                                    // ones the first
}

TEST(WeightChanges, SharesMakeAMean) {
  std::vector<double> sum(2, 0.0);
  add_share(std::vector<float>{1, 3}, 0.25, sum);
  add_share(std::vector<float>{5, -1}, 0.75, sum);
  EXPECT_EQ(sum, (std::vector<double>{4.0, 0.0}));
}

}  // namespace
}  // namespace rollcall::model::testing
