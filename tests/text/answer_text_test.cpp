// Marked answers, their normal form, printable text: hand-worked cases and invariants.
#include "text/answer/answer_text.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::text {
namespace {

TEST(AnswerText, TrimTakesWhiteSpaceAtBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(AnswerText, TheLastMarkerCounts) {
  const auto found = find_marked_answer("#### 1\nno, wait\n####  72 \nbye", "####");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->answer, "72");
  EXPECT_EQ(found->reasoning, "#### 1\nno, wait\n");
  EXPECT_FALSE(found->reaches_end);
  EXPECT_TRUE(find_marked_answer("#### 7", "####")->reaches_end);
}

TEST(AnswerText, NoMarkerNoAnswer) {
  EXPECT_FALSE(find_marked_answer("### 72", "####"));
  EXPECT_FALSE(find_marked_answer("", "####"));
  EXPECT_EQ(find_marked_answer("####", "####")->answer, "");
}

TEST(AnswerText, AnEmptyMarkerTakesTheWholeText) {
  const auto found = find_marked_answer(" 72\n", "");
  EXPECT_EQ(found->answer, "72");
  EXPECT_EQ(found->reasoning, "");
}

struct NormalCase {
  const char *given, *wanted;
};

TEST(AnswerText, NumbersGetTheirShortestSpelling) {
  for (const auto& [given, wanted] : {
           NormalCase{"18", "18"},
           {"18.0", "18"},
           {"18.", "18"},
           {"$18", "18"},
           {" $1,050.00. ", "1050"},
           {"1,000,000", "1000000"},
           {"+5", "5"},
           {"-5", "-5"},
           {"-$5", "-5"},
           {"$-5", "-5"},
           {"007", "7"},
           {"-0.50", "-0.5"},
           {".5", "0.5"},
           {"0", "0"},
           {"-0", "0"},
           {"-0.0", "0"},
           {"000", "0"},
           {"100", "100"},
           {"99999999999999999999999.10", "99999999999999999999999.1"},
       }) {
    EXPECT_EQ(normal_answer(given), wanted) << given;
  }
}

TEST(AnswerText, OtherTextIsOnlyTrimmed) {
  for (const char* text :
       {"", "Paris", "1,2,3", "10,00", ",100", "1,0000", "1 000", "3/4", "5..", "$", "-", ".",
        "1.2.3", "--5", "$$5", "0x10", "1e3", "18 apples", "1,000,"}) {
    EXPECT_EQ(normal_answer(std::string(" ") + text + "\n"), text) << text;
  }
}

RC_GTEST_PROP(AnswerText, NormalFormIsAFixedPoint, ()) {
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789.,$+- x")));
  const auto once = normal_answer(text);
  RC_ASSERT(normal_answer(once) == once);
}

RC_GTEST_PROP(AnswerText, EverySpellingOfANumberMeetsInOneForm, (std::int32_t n)) {
  const auto plain = std::to_string(n);
  RC_ASSERT(normal_answer(plain) == plain);
  RC_ASSERT(normal_answer(plain + ".00") == plain);
  RC_ASSERT(normal_answer("$" + plain + ".") == plain);
  std::string grouped = plain;
  for (std::ptrdiff_t at = std::ptrdiff_t(grouped.size()) - 3; at > (n < 0 ? 1 : 0); at -= 3)
    grouped.insert(std::size_t(at), 1, ',');
  RC_ASSERT(normal_answer(grouped) == plain);
}

TEST(AnswerText, PrintableShareCountsBytesOfWholeCharacters) {
  EXPECT_EQ(printable_share(""), 0.0);
  EXPECT_EQ(printable_share("a\tb\n"), 1.0);
  EXPECT_EQ(printable_share("ab\x01\x7F"), 0.5);
  // 2, 3 and 4 byte characters
  EXPECT_EQ(printable_share("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 1.0);
  EXPECT_EQ(printable_share("a\xC3"), 0.5);     // cut off
  EXPECT_EQ(printable_share("\xC2\x85"), 0.0);  // control character U+0085
  EXPECT_EQ(printable_share("\xC0\x80\xE0\x80\x80\xF0\x80\x80\x80"), 0.0);  // overlong
  EXPECT_EQ(printable_share("\xED\xA0\x80"), 0.0);                          // surrogate
  EXPECT_EQ(printable_share("\xF4\x90\x80\x80\xF5\xFF"), 0.0);              // beyond U+10FFFF
  EXPECT_EQ(printable_share("\xE2\x82z"), 1.0 / 3);
}

RC_GTEST_PROP(AnswerText, PrintableShareIsAShare, (const std::string& text)) {
  const double share = printable_share(text);
  RC_ASSERT(share >= 0 && share <= 1);
}

}  // namespace
}  // namespace rollcall::text
