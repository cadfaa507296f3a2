// What the parser makes of spellings, and what it refuses.
#include "reward/math/expression/expression.hpp"
#include "reward/math/limits.hpp"
#include "reward/math/parser/numerals.hpp"
#include "reward/math/parser/tokens.hpp"
#include "reward/math/parser/units.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace rollcall::reward::math {
namespace {

Node parsed(const char* text) { return parse_answer(text, {}).root; }

NoVerdict::Cause refusal(const std::string& text) {
  try {
    parse_answer(text, {});
  } catch (const NoVerdict& e) {
    return e.cause;
  }
  ADD_FAILURE() << text << " was read";
  return NoVerdict::Cause::undefined;
}

TEST(Parse, TellsStructures) {
  EXPECT_EQ(parsed("(1,2]").kind, Kind::bracketed);
  EXPECT_EQ(parsed("(1,2]").text, "(]");
  EXPECT_EQ(parsed("\\{1,2\\}").kind, Kind::set);
  EXPECT_EQ(parsed("{1,2}").kind, Kind::set);
  EXPECT_EQ(parsed("1, 2 and 3").children.size(), 3U);
  EXPECT_EQ(parsed("1 < x \\le 2").text, "<l");
  EXPECT_EQ(parsed("a \\pm b").kind, Kind::plus_minus);
  EXPECT_EQ(*parsed("\\begin{pmatrix}1&2&3\\\\4&5&6\\end{pmatrix}").value, 3);
  EXPECT_EQ(parsed("5 \\text{ square  units}").text, "square  units");
  EXPECT_EQ(parsed("x_{10}").text, "x_10");
  EXPECT_EQ(*parsed("1011_2").value, 11);
}

TEST(Parse, CommasHaveTwoReadings) {
  EXPECT_EQ(*parsed("1,234").value, 1234);
  EXPECT_TRUE(parse_answer("1,234", {}).has_thousands);
  EXPECT_EQ(parse_answer("1,234", {.thousands = false}).root.kind, Kind::list);
  EXPECT_EQ(parsed("1,23").kind, Kind::list);
  EXPECT_EQ(parsed("1, 234").kind, Kind::list);
}

TEST(Parse, ReadsLiteralsExactly) {
  EXPECT_EQ(*parsed("0.125").value, mpq_class(1, 8));
  EXPECT_EQ(*parsed("1.25e-2").value, mpq_class(1, 80));
  EXPECT_EQ(*parsed("0.1\\overline{6}").value, mpq_class(1, 6));
  EXPECT_EQ(*parsed("0.\\overline{142857}").value, mpq_class(1, 7));
}

TEST(Parse, RefusesWithACause) {
  EXPECT_EQ(refusal("(1"), NoVerdict::Cause::unreadable);
  EXPECT_EQ(refusal("1)"), NoVerdict::Cause::unreadable);
  EXPECT_EQ(refusal("1 2"), NoVerdict::Cause::unreadable);
  EXPECT_EQ(refusal("\\frac{1}"), NoVerdict::Cause::unreadable);
  EXPECT_EQ(refusal("\\begin{pmatrix}1&2\\\\3\\end{pmatrix}"), NoVerdict::Cause::unreadable);
  EXPECT_EQ(refusal("12_{2}"), NoVerdict::Cause::unreadable);  // 2 is no digit of base 2
  EXPECT_EQ(refusal("\\lim_{x\\to 0} x"), NoVerdict::Cause::unsupported);
  EXPECT_EQ(refusal(fmt::format("{:(<200}1{:)<200}", "", "")), NoVerdict::Cause::exhausted);
  EXPECT_EQ(refusal("1e99999999999"), NoVerdict::Cause::exhausted);
}

TEST(Units, ConvertExactly) {
  EXPECT_EQ(find_unit("km/h")->factor, mpq_class(5, 18));
  EXPECT_EQ(find_unit("square feet")->factor, mpq_class(145161, 1562500));  // 0.3048^2
  EXPECT_EQ(find_unit("Hours")->dimension(), "time");
  EXPECT_EQ(find_unit("miles per hour")->factor, find_unit("mph")->factor);
  EXPECT_EQ(find_unit("m/s^2")->dimension(), "length/time^2");
  EXPECT_EQ(find_unit("kg m/s^2")->dimension(), "length mass/time^2");
  EXPECT_EQ(find_unit("wombats")->counted, find_unit("wombat")->counted);
  EXPECT_FALSE(find_unit("or 6"));
  EXPECT_FALSE(find_unit("is wrong"));
}

TEST(Units, DerivedOnesAreProductsOfBaseUnits) {
  const auto is_same = [](const char* a, const char* b) {
    const auto first = find_unit(a), second = find_unit(b);
    return first && second && first->powers == second->powers &&
           first->counted == second->counted && first->factor == second->factor;
  };
  EXPECT_TRUE(is_same("N", "kg m/s^2"));
  EXPECT_TRUE(is_same("J", "N m"));
  EXPECT_TRUE(is_same("W", "kg m^2 s^{-3}"));
  EXPECT_TRUE(is_same("V", "kg m^2/(A s^3)"));
  EXPECT_TRUE(is_same("\\mathrm{m/s/s}", "m s^-2"));
  EXPECT_TRUE(is_same("liter", "cubic decimeter"));
  EXPECT_EQ(find_unit("kJ")->factor, 1000);
  EXPECT_EQ(find_unit("mJ")->factor, mpq_class(1, 1000));
  EXPECT_EQ(find_unit("MHz")->factor, find_unit("megahertz")->factor);
  EXPECT_EQ(find_unit("µm")->factor, mpq_class(1, 1000000));
  EXPECT_EQ(find_unit("acre")->factor, mpq_class(43560) * mpq_class(145161, 1562500));
  EXPECT_EQ(find_unit("min")->dimension(), "time");  // no milli-inch
  EXPECT_EQ(find_unit("°F")->offset, mpq_class(45967, 180));
  EXPECT_EQ(find_unit("°F")->factor, mpq_class(5, 9));
}

TEST(Numerals, ReadTheLongestNumber) {
  EXPECT_EQ(find_numeral("one hundred and forty-two"), mpq_class(142));
  EXPECT_EQ(find_numeral("two million three hundred thousand and five"), mpq_class(2300005));
  EXPECT_EQ(find_numeral("minus three quarters"), mpq_class(-3, 4));
  EXPECT_EQ(find_numeral("Two and a Half"), mpq_class(5, 2));
  EXPECT_EQ(find_numeral("half a dozen"), mpq_class(6));
  EXPECT_EQ(find_numeral("three point one four"), mpq_class(157, 50));
  EXPECT_EQ(numeral_at("five and six")->size, 4U);
  EXPECT_EQ(numeral_at("half an hour")->size, 4U);
  EXPECT_FALSE(numeral_at("third"));
  EXPECT_FALSE(numeral_at("a goat"));
  EXPECT_FALSE(numeral_at("and five"));
}

TEST(Tokens, GroupsEndAtTheirBrace) {
  EXPECT_EQ(group_end("{a{b}c}d", 0), 7U);
  EXPECT_EQ(group_end("{a\\}b}", 0), 6U);
  EXPECT_EQ(group_end("{a", 0), std::string_view::npos);
}

}  // namespace
}  // namespace rollcall::reward::math
