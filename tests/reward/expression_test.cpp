// The expression parser and its fractions: hand-worked values, refusals, and any bytes at all.
#include "reward/expression.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace rollcall::reward {
namespace {

std::string value_of(const std::string& text) {
  const auto e = parse_expression(text);
  return e ? e->value.text() : "none";
}

TEST(Expression, PrecedenceAssociativityAndExactFractions) {
  EXPECT_EQ(value_of("2+3*4"), "14");
  EXPECT_EQ(value_of("(2+3)*4"), "20");
  EXPECT_EQ(value_of("10-4-3"), "3");
  EXPECT_EQ(value_of("100/5/2"), "10");
  EXPECT_EQ(value_of("100/(5/2)"), "40");
  EXPECT_EQ(value_of("1/3+1/6"), "1/2");
  EXPECT_EQ(value_of("1/3*3"), "1");
  EXPECT_EQ(value_of("3-10/4"), "1/2");
  EXPECT_EQ(value_of("2-5"), "-3");
  EXPECT_EQ(value_of("8/(3-8/3)"), "24");
  EXPECT_EQ(value_of(" ( 7 ) "), "7");
  EXPECT_EQ(value_of("007"), "7");
}

TEST(Expression, NumbersAreListedAsWritten) {
  EXPECT_EQ(parse_expression("(3+7)*3")->numbers, (std::vector<std::int64_t>{3, 7, 3}));
}

TEST(Expression, AnythingElseIsRefused) {
  for (const std::string text :
       {"",     " ",    "+",   "1+",  "+1", "-1",  "1+-1",  "1 2",  "()",     "(1",   "1)",
        "1++2", "2**3", "1.5", "1=1", "x",  "1e3", "1,000", "2(3)", "(1)(2)", "\xFF", "1\n+1"}) {
    EXPECT_FALSE(parse_expression(text)) << text;
  }
  EXPECT_FALSE(parse_expression(std::string("1\0", 2)));
  EXPECT_FALSE(
      parse_expression(std::string("1+\0"
                                   "1",
                                   4)));
}

TEST(Expression, WhatHasNoExactValueIsRefused) {
  EXPECT_FALSE(parse_expression("1/0"));
  EXPECT_FALSE(parse_expression("1/(2-2)"));
  EXPECT_FALSE(parse_expression("0/0"));
  EXPECT_EQ(value_of("9223372036854775807"), "9223372036854775807");
  EXPECT_FALSE(parse_expression("9223372036854775808"));
  EXPECT_FALSE(parse_expression("9223372036854775807+1"));
  EXPECT_EQ(value_of("0-9223372036854775807"), "-9223372036854775807");
  EXPECT_FALSE(parse_expression("0-9223372036854775807-1"));
  EXPECT_FALSE(parse_expression("3037000500*3037000500"));
  EXPECT_EQ(value_of("3037000499*3037000499"), "9223372030926249001");
  EXPECT_FALSE(parse_expression("1/9223372036854775807/2"));
  EXPECT_EQ(value_of("9223372036854775807/9223372036854775807"), "1");
  // every step must fit, not only the result
  EXPECT_EQ(value_of("4611686018427387904*2/2+0*9999"), "none");
}

TEST(Expression, DepthAndLengthAreLimited) {
  const auto nested = [](int depth) {
    return fmt::format("{:(<{}}1{:)<{}}", "", depth, "", depth);
  };
  EXPECT_EQ(value_of(nested(kDeepestExpression)), "1");
  EXPECT_FALSE(parse_expression(nested(kDeepestExpression + 1)));
  EXPECT_FALSE(parse_expression(std::string(1 << 24, '(')));  // would end the stack without a limit
  EXPECT_EQ(value_of("1" + std::string(kLongestExpression - 1, ' ')), "1");
  EXPECT_FALSE(parse_expression("1" + std::string(kLongestExpression, ' ')));
}

RC_GTEST_PROP(Expression, AnyBytesAreSurvived, (const std::string& text)) {
  parse_expression(text);
}

RC_GTEST_PROP(Expression, AnyMixOfItsOwnCharactersIsSurvived, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("0123456789999999+-*/() ((((")));
  const auto e = parse_expression(text);
  RC_ASSERT(!e || (e->value.denominator >= 1 && !e->numbers.empty()));
}

struct Tree {
  std::string text;
  double value;
};

/// A random expression with small numbers, with its value computed in floating point.
Tree random_tree(int depth) {
  if (depth == 0 || *rc::gen::inRange(0, 4) == 0) {
    const int n = *rc::gen::inRange(1, 10);
    return {std::to_string(n), double(n)};
  }
  const Tree a = random_tree(depth - 1), b = random_tree(depth - 1);
  const char op = *rc::gen::element('+', '-', '*', '/');
  const double value = op == '+'   ? a.value + b.value
                       : op == '-' ? a.value - b.value
                       : op == '*' ? a.value * b.value
                                   : a.value / b.value;
  return {"(" + a.text + op + b.text + ")", value};
}

RC_GTEST_PROP(Expression, AgreesWithFloatingPoint, ()) {
  const Tree tree = random_tree(3);
  const auto e = parse_expression(tree.text);
  if (!e) {
    RC_SUCCEED("division by zero");
  }
  const double exact = double(e->value.numerator) / double(e->value.denominator);
  RC_ASSERT(std::abs(exact - tree.value) <= 1e-9 * (1 + std::abs(exact)));
}

RC_GTEST_PROP(Rational, FieldLaws, ()) {
  const auto draw = [] {
    return *apply({*rc::gen::inRange<std::int64_t>(-9999, 9999), 1}, '/',
                  {*rc::gen::inRange<std::int64_t>(1, 9999), 1});
  };
  const Rational a = draw(), b = draw(), c = draw();
  RC_ASSERT(apply(a, '+', b) == apply(b, '+', a));
  RC_ASSERT(apply(a, '*', b) == apply(b, '*', a));
  RC_ASSERT(*apply(*apply(a, '-', b), '+', b) == a);
  if (b.numerator != 0) RC_ASSERT(*apply(*apply(a, '/', b), '*', b) == a);
  const Rational d{c.numerator % 10, 1};
  RC_ASSERT(apply(*apply(a, '+', b), '*', d) == apply(*apply(a, '*', d), '+', *apply(b, '*', d)));
}

}  // namespace
}  // namespace rollcall::reward
