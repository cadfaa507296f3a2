// Canonical forms: the laws of a field, exact roots and logarithms, separation bounds.
#include "reward/math/algebra/algebra.hpp"

#include "reward/math/algebra/functions.hpp"
#include "reward/math/algebra/powers.hpp"
#include "reward/math/values/evaluation.hpp"
#include "reward/math/values/values.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::reward::math {
namespace {

Form random_form(Algebra& algebra, int depth) {
  const auto kind = depth == 0 ? *rc::gen::inRange(0, 4) : *rc::gen::inRange(0, 8);
  const auto number = [&] { return mpq_class(*rc::gen::inRange(-9, 10)); };
  switch (kind) {
    case 0: return constant(number());
    case 1: return algebra.variable("x");
    case 2: return algebra.variable("y");
    case 3:
      return power(algebra, constant(mpq_class(*rc::gen::inRange(2, 20))),
                   constant(mpq_class(1, 2)));
    case 4: return algebra.add(random_form(algebra, depth - 1), random_form(algebra, depth - 1));
    case 5:
      return algebra.multiply(random_form(algebra, depth - 1), random_form(algebra, depth - 1));
    case 6: return algebra.add(random_form(algebra, depth - 1), algebra.i());
    default:
      return algebra.subtract(random_form(algebra, depth - 1), random_form(algebra, depth - 1));
  }
}

RC_GTEST_PROP(Algebra, KeepsTheLawsOfAField, ()) {
  Algebra g;
  const Form a = random_form(g, 3), b = random_form(g, 3), c = random_form(g, 3);
  RC_ASSERT(g.same(g.add(a, b), g.add(b, a)));
  RC_ASSERT(g.same(g.multiply(a, g.add(b, c)), g.add(g.multiply(a, b), g.multiply(a, c))));
  RC_ASSERT(g.same(g.subtract(g.add(a, b), b), a));
  RC_ASSERT(is_zero(g.subtract(a, a)));
  if (!is_zero(b)) RC_ASSERT(g.same(g.multiply(g.divide(a, b), b), a));
}

RC_GTEST_PROP(Algebra, RootsOfNumbersAreExact, ()) {
  Algebra g;
  const int n = *rc::gen::inRange(1, 5000), d = *rc::gen::inRange(1, 5000),
            k = *rc::gen::inRange(2, 7);
  mpq_class q(n, d);
  q.canonicalize();
  const Form root = power(g, constant(q), constant(mpq_class(1, k)));
  RC_ASSERT(rational(power(g, root, constant(k))) == q);
}

RC_GTEST_PROP(Algebra, LogarithmsOfNumbersAddUp, ()) {
  Algebra g;
  // all their primes are found
  const int m = *rc::gen::inRange(1, 2000), n = *rc::gen::inRange(1, 2000);
  RC_ASSERT(g.same(
      apply_function(g, "ln", {constant(mpq_class(mpz_class(m) * n))}),
      g.add(apply_function(g, "ln", {constant(m)}), apply_function(g, "ln", {constant(n)}))));
}

TEST(Algebra, RefusesWhatHasNoValue) {
  Algebra g;
  EXPECT_THROW(g.divide(constant(1), constant(0)), NoVerdict);
  EXPECT_THROW(power(g, constant(0), constant(-1)), NoVerdict);
  EXPECT_THROW(power(g, constant(0), constant(0)), NoVerdict);
  EXPECT_THROW(apply_function(g, "ln", {constant(0)}), NoVerdict);
  EXPECT_THROW(apply_function(g, "factorial", {constant(-1)}), NoVerdict);
}

TEST(Separation, BoundsAreBelowTheNumber) {
  Values values;
  Algebra& g = values.algebra();
  const auto root = [&](int n) { return power(g, constant(n), constant(mpq_class(1, 2))); };
  // sqrt(2) + sqrt(3) - sqrt(5 + 2 sqrt(6)) is zero; with 10^-12 more it is not, and stays above
  // its bound of 2^-B.
  const Form nested = power(g, g.add(constant(5), g.scale(root(6), 2)), constant(mpq_class(1, 2)));
  const Form zero = g.subtract(g.add(root(2), root(3)), nested);
  EXPECT_EQ(values.compare(zero, constant(0)).answer, Answer::equal);
  mpq_class tiny(1, 1000000000000);
  const auto bits = separation_bits(g.atoms(), g.add(zero, constant(tiny)).top);
  ASSERT_TRUE(bits);
  EXPECT_GT(*bits, 40);  // 10^-12 is about 2^-39.9
  EXPECT_EQ(values.compare(g.add(zero, constant(tiny)), constant(0)).answer, Answer::different);
  EXPECT_FALSE(separation_bits(g.atoms(), g.pi().top));
}

}  // namespace
}  // namespace rollcall::reward::math
