// Every extraction rule against answers found by hand.
#include "text/answer/extract.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>

namespace rollcall::text {
namespace {

/// The answer; "(cut) ..." where the limit may have cut it, "(none)" where there is none.
std::string found(const std::string& rule, std::string_view response, bool finished = true) {
  const auto extracted = Extractor(rule, "####").find(response, finished);
  return !extracted ? "(none)" : extracted->complete ? extracted->text : "(cut) " + extracted->text;
}

struct Case {
  const char* response;
  const char* answer;
  bool finished = true;
};

void check(const std::string& rule, std::initializer_list<Case> cases) {
  for (const auto& [response, answer, finished] : cases)
    EXPECT_EQ(found(rule, response, finished), answer) << rule << ": " << response;
}

TEST(Extract, Whole) { check("whole", {{" 28r9\n", "28r9"}, {"", ""}, {"12", "(cut) 12", false}}); }

TEST(Extract, Integer) {
  check("integer", {{"357", "357"},
                    {" -357\n", "-357"},
                    {"\xE2\x88\x92"
                     "357.",
                     "-357"},
                    {"+7", "7"},
                    {"1,050", "1050"},
                    {"1,05", "(none)"},
                    {"0379", "0379"},
                    {"12,345,678.", "12345678"},
                    {"3.5", "(none)"},
                    {"The answer is 7", "(none)"},
                    {"7 8", "(none)"},
                    {"7..", "(none)"},
                    {"-", "(none)"},
                    {"", "(none)"},
                    {"35", "(cut) 35", false}});
}

TEST(Extract, LastNumber) {
  check("last_number", {{"17 + 25 = 42", "42"},
                        {"The answer is 42.", "42"},
                        {"It is -5", "-5"},
                        {"It is \xE2\x88\x92"
                         "5!",
                         "-5"},
                        {"12-5", "5"},  // a minus between two numbers is none of the second's
                        {"(3)-5", "5"},
                        {"It costs -$1,050.50.", "-1050.50"},
                        {"1,2", "2"},  // a list, not a number
                        {"1,0500", "0500"},
                        {"3/4", "4"},
                        {"41 or 42", "(none)"},
                        {"It is 41 apples or perhaps 42.", "(none)"},
                        {"either 6 or 7, so 6 + 7 = 13", "13"},
                        {"quarter past 3:15", "(none)"},  // a time's minutes
                        {"Answer:15", "15"},
                        {"<think>15</think>16", "16"},
                        {"**357**", "357"},
                        {"0379", "0379"},
                        {"no number", "(none)"},
                        {"", "(none)"},
                        {"it is 3", "(cut) 3", false}});
}

TEST(Extract, Gsm8kStrict) {
  check("gsm8k_strict", {{"2+2=4\n#### 4", "4"},
                         {"#### 4\n#### 5", "5"},  // the last, where the harness takes the first
                         {"#### 4 or 5", "(none)"},
                         {"#### 4 apples, or maybe 5", "(none)"},
                         {"#### -1,050.", "-1050"},
                         {"####4", "4"},
                         {"#### $4", "4"},
                         {"#### **4**", "4"},
                         {"#### \xE2\x88\x92"
                          "4",
                          "-4"},
                         {"<think>#### 5</think>#### 4", "4"},
                         {"#### four #### 4", "4"},
                         {"#### -", "(none)"},
                         {"#### .", "(none)"},
                         {"The answer is 4", "(none)"},
                         {"#### 12", "(cut) 12", false},
                         {"#### 12 because", "12", false}});
}

TEST(Extract, Gsm8kFlexible) {
  check("gsm8k_flexible", {{"2+2=4", "4"},
                           {"It is $1,050.", "1050"},
                           {"first 3, then 7", "7"},
                           {"#### 41 or 42", "(none)"},
                           {"41 or maybe 42", "(none)"},
                           {"2 or 3 of them make 42", "42"},
                           {"quarter past 3:15", "(none)"},
                           {"It is -5", "-5"},
                           {"I think 7...", "7.."},  // one closing period is taken off, as in the
                                                     // harness
                           {"It is 7. Well...", "(none)"},  // the harness takes the dots
                           {"12-5", "-5"},
                           {"none", "(none)"},
                           {"", "(none)"},
                           {"It is 12", "(cut) 12", false},
                           {"12 it is", "12", false}});
}

TEST(Extract, Boxed) {
  check("boxed", {{"so \\boxed{42}.", "42"},
                  {"\\boxed{1} or \\boxed{2}", "1 or 2"},
                  {"$x = \\boxed{1}$, $y = \\boxed{2}$", "1, 2"},
                  {"\\boxed{1}. So \\boxed{2}", "2"},
                  {"Since \\boxed{1} is odd, it is \\boxed{2}", "2"},
                  {"not \\boxed{1} but \\boxed{2}", "2"},
                  {"\\boxed{2}\n\n\\boxed{2}", "2"},
                  {"\\boxed{\\boxed{5}}", "5"},
                  {"\\boxed{5} as \\boxed asks", "5"},
                  {"\\boxed{5} or \\boxed{6", "(none)"},
                  {"<think>\\boxed{1}</think>\\boxed{2}", "2"},
                  {"<think>\\boxed{1}</think>none", "(none)"},
                  {"\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"},
                  {"\\boxed{\\{1\\}}", "\\{1\\}"},
                  {"\\boxed { 7 }", "7"},
                  {"\\fbox{7}", "7"},
                  {"\\boxed{}", ""},
                  {"\\boxed{42}, in \\boxed{} as asked", "42"},
                  {"\\boxed{42", "(none)"},
                  {"\\boxed 42 {", "(none)"},
                  {"{42}", "(none)"},
                  {"\\boxed{42} and then", "42", false}});  // its brace says that it is whole
}

TEST(Extract, AnswerTag) {
  check("answer_tag", {{"<think>1</think><answer> 42 </answer>", "42"},
                       {"<answer>1</answer><answer>2</answer>", "2"},
                       {"<answer>1<answer>2</answer>", "2"},
                       {"<answer>1</answer> <answer>2", "1"},
                       {"<answer>42", "(none)"},
                       {"42</answer>", "(none)"},
                       {"</answer><answer>", "(none)"},
                       {"<answer>42</answer>", "42", false}});
}

TEST(Extract, FinalLine) {
  check("final_line", {{"thinking\n42", "42"},
                       {"thinking\n 28r9 \n\n", "28r9"},
                       {"42", "42"},
                       {"\n", "(none)"},
                       {"a\nb", "(cut) b", false}});
}

TEST(Extract, Marker) {
  check("marker", {{"2+2\n#### 4", "4"},
                   {"####1\n#### 2\nend", "2"},
                   {"#### ", "(none)"},
                   {"4", "(none)"},
                   {"#### 4", "(cut) 4", false},
                   {"#### 4\n", "4", false}});
  EXPECT_EQ(Extractor("marker", "####").shown(), "marker ####");
}

TEST(Extract, RegularExpression) {
  check("regex:answer: (\\S+)", {{"answer: 1, answer: 2", "2"},
                                 {"the answer", "(none)"},
                                 {"answer: 12", "(cut) 12", false},
                                 {"answer: 12 .", "12", false}});
  check("regex:\\d+$", {{"1\n2", "2"}, {"1 x", "(none)"}});
  check("regex:(a)|b", {{"ab", "b"}});           // the group that took no part is none
  check("regex:^([^}]*)", {{"42} and", "42"}});  // empty matches end
  check("regex:x*", {{"ä", ""}});
  // invalid UTF-8 matches nothing and breaks nothing
  EXPECT_EQ(found("regex:(\\d+)", "\xFF 12 \xC3"), "12");
}

TEST(Extract, NoPatternHangs) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(found("regex:(a+)+$", fmt::format("{:a<100000}b", "")), "(none)");
  EXPECT_EQ(found("regex:(x+x+)+y", std::string(5'000, 'x')), "(none)");
  EXPECT_EQ(found("regex:(?:(.*)(.*)(.*)(.*))z", std::string(20'000, 'q')), "(none)");
  // without a bound: longer than the universe is old
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

std::string refusal(const std::string& rule) {
  try {
    const Extractor extractor(rule);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Extract, MathAnswer) {
  check(
      "math_answer",
      {{"first \\boxed{1}, then \\boxed{\\frac{1}{\\sqrt{2}}} at last", "\\frac{1}{\\sqrt{2}}"},
       {"\\boxed{2}, so the answer is 3.", "2"},
       {"<answer> 5 </answer>", "5"},
       {"The answer is 42.", "42"},
       {"Thus the final answer is: $x = \\frac{1}{2}$. I hope it is correct.", "x = \\frac{1}{2}"},
       {"**Answer:** (1, 2)\n", "(1, 2)"},
       {"the answer is 3.5 cm", "3.5 cm"},
       {"#### 1,050", "1,050"},
       {"We get \\(a+b\\) and \\[c\\] and so on.", "a+b and c"},
       {"so $x=1$ and $y=2$.", "x=1 and y=2"},
       {"reasoning\n17", "17"},
       {"the answer is 4", "(cut) 4", false},
       {"the answer is 4. And", "4", false},
       {"Therefore, the result is 42.", "42"},
       {"the answer is 5 because 2+3=5", "5"},
       {"the answer is $5$ and not $6$", "5"},
       {"", "(none)"}});
  EXPECT_EQ(found("math_answer", std::string(300, 'a')), "(none)");
}

TEST(Extract, UnknownRulesAndPatternsAreNamed) {
  EXPECT_NE(refusal("gsm8k_strickt").find("gsm8k_strict"), std::string::npos)
      << refusal("gsm8k_strickt");
  EXPECT_NE(refusal("regex:(").find("at byte 1"), std::string::npos) << refusal("regex:(");
}

RC_GTEST_PROP(Extract, TakesAnyBytes, (const std::string& response, bool finished)) {
  for (const auto& rule : extraction_rules()) {
    const std::string name = rule.name;
    const auto extracted =
        Extractor(name == "regex:PATTERN" ? "regex:[0-9.]+" : name, "#").find(response, finished);
    if (rule.numbers_only && extracted)
      RC_ASSERT(extracted->text.find_first_not_of("-0123456789.") == std::string::npos);
  }
}

}  // namespace
}  // namespace rollcall::text
