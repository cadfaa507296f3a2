// Interval functions hold the value and know where they are not defined.
#include "reward/math/values/interval.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>

namespace rollcall::reward::math {
namespace {

Box real(const mpq_class& value) { return {Interval(96, value), std::nullopt}; }

RC_GTEST_PROP(Intervals, HoldTheValue, ()) {
  mpq_class q(*rc::gen::inRange(1, 100000), 1000);
  q.canonicalize();
  const double x = q.get_d();
  const auto near = [](const std::optional<Box>& box, double value) {
    return box && !box->im && std::abs(box->re.middle() - value) <= 1e-12 * (1 + std::abs(value));
  };
  RC_ASSERT(near(root(real(q), 2), std::sqrt(x)));
  RC_ASSERT(near(root(real(-q), 3), -std::cbrt(x)));
  RC_ASSERT(near(function("ln", real(q)), std::log(x)));
  RC_ASSERT(near(function("sin", real(q)), std::sin(x)));
  RC_ASSERT(near(function("arctan", real(q)), std::atan(x)));
  RC_ASSERT(near(power(real(q), -3), std::pow(x, -3)));
  RC_ASSERT(near(inverse(real(q)), 1 / x));
  RC_ASSERT(near(function("floor", real(q)), std::floor(x)));
}

TEST(Intervals, KnowWhereTheyAreNotDefined) {
  EXPECT_FALSE(inverse(real(0)));
  EXPECT_FALSE(function("ln", real(0)));
  EXPECT_FALSE(function("arcsin", real(2)));
  EXPECT_FALSE(root(real(-1), 4));
  EXPECT_FALSE(function("factorial", real(mpq_class(1, 2))));
  EXPECT_FALSE(exponential(real(mpq_class("100000000000000000000000"))));
}

TEST(Intervals, AreComplexWhereTheyMustBe) {
  const auto i = root(real(-1), 2);  // i, i^2 = -1, sqrt(2i) = 1 + i
  ASSERT_TRUE(i && i->im);
  EXPECT_EQ((*i * *i).re.middle(), -1);
  const auto one_and_i = root(*i * real(2), 2);
  ASSERT_TRUE(one_and_i && one_and_i->im);
  EXPECT_NEAR(one_and_i->re.middle(), 1, 1e-15);
  EXPECT_NEAR(one_and_i->im->middle(), 1, 1e-15);
}

}  // namespace
}  // namespace rollcall::reward::math
