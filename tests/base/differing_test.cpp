// Numbers that only rounding tells apart are equal, whatever their size; all others differ.
#include "base/numbers/differing.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace rollcall {
namespace {

TEST(Differing, TheOrderOfASumDoesNotMakeADifference) {
  const double one = .1 + .2 + .3, other = .3 + .2 + .1;
  ASSERT_NE(one, other) << "rounding must tell them apart, or this shows nothing";
  EXPECT_FALSE(differ(one, other));
  EXPECT_FALSE(differ(1e12 * one, 1e12 * other));
  EXPECT_FALSE(differ(std::vector<double>{one, other, one}));
  const double left = 1.0 - .9 - .1;
  ASSERT_NE(left, 0.0);
  EXPECT_FALSE(differ(left, 0.0)) << "terms that cancel leave rounding beside 0";
}

TEST(Differing, WhatIsMeantMakesOne) {
  EXPECT_TRUE(differ(0.0, 1.0));
  EXPECT_TRUE(differ(1e-6, 0.0)) << "a small penalty is not rounding";
  EXPECT_TRUE(differ(1.0, 1.0 + 1e-6));
  EXPECT_TRUE(differ(1e12, 1e12 + 1e4));
  EXPECT_TRUE(differ(std::vector<double>{0.5, 0.5, 0.5, 0.25}));
}

TEST(Differing, OneValueHasNothingToDifferFrom) {
  EXPECT_FALSE(differ(std::vector<double>{}));
  EXPECT_FALSE(differ(std::vector<double>{3.0}));
  EXPECT_FALSE(differ(std::vector<double>{3.0, 3.0}));
}

TEST(Differing, WhatIsNotFiniteDiffersUnlessItIsTheSameInfinity) {
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(differ(infinity, 1.0));
  EXPECT_TRUE(differ(infinity, -infinity));
  EXPECT_FALSE(differ(infinity, infinity));
  EXPECT_TRUE(differ(nan, nan));
  EXPECT_TRUE(differ(std::vector<double>{1.0, nan}));
}

}  // namespace
}  // namespace rollcall
