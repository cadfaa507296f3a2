// Verdicts as numbers: each rule on what judges write, on what the token limit cut, and on what is
// none.
#include "reward/judge_verdict.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <tuple>

namespace rollcall::reward {
namespace {

using Found = std::optional<double>;
constexpr Found kNone = std::nullopt;

TEST(JudgeVerdict, YesOrNoIsTheFirstSuchWord) {
  const VerdictReader reader("yes_no", 0, 1);
  EXPECT_TRUE(reader.takes_first());
  const std::pair<const char*, Found> cases[] = {{"Yes.", 1.0},
                                                 {"NO", 0.0},
                                                 {"I think: no, not yes", 0.0},
                                                 {"**Yes**", 1.0},
                                                 {"Yesterday, no.", 0.0},
                                                 {"eyes and nose", kNone},
                                                 {"", kNone},
                                                 {"maybe", kNone}};
  for (const auto& [said, verdict] : cases) EXPECT_EQ(reader.read(said, true), verdict) << said;
  EXPECT_EQ(reader.read("no", false), kNone) << "it may have become not";
  EXPECT_EQ(reader.read("no,", false), Found(0.0));
}

TEST(JudgeVerdict, TwoOtherWords) {
  const VerdictReader reader("words:Correct|Incorrect", 0, 1);
  EXPECT_TRUE(reader.takes_first());
  EXPECT_EQ(reader.read("It is incorrect, not correct.", true), Found(0.0));
  EXPECT_EQ(reader.read("CORRECT", true), Found(1.0));
  EXPECT_EQ(reader.read("yes", true), kNone);
}

/// What turns a word round, and where a word is no verdict. The second column is of
/// words:correct|incorrect, the third of yes_no.
TEST(JudgeVerdict, AWordIsReadInItsClause) {
  const VerdictReader words("words:correct|incorrect", 0, 1), yes_no("yes_no", 0, 1);
  const std::tuple<const char*, Found, Found> cases[] = {
      {"The answer is not correct.", 0.0, kNone},
      {"The answer isn't correct", 0.0, kNone},
      {"It is not quite correct.", 0.0, kNone},
      {"I do not think that this is correct.", 0.0, kNone},
      {"This is far from correct.", 0.0, kNone},
      {"It is only partly correct.", 0.0, kNone},
      {"Mostly correct.", 0.0, kNone},
      {"It is not incorrect.", 1.0, kNone},
      {"It is not only correct but elegant.", 1.0, kNone},
      {"Not bad, it is correct.", 1.0, kNone},
      {"No, it is correct.", 1.0, 0.0},
      {"The correct answer is 42, and the response says 41: incorrect.", 0.0, kNone},
      {"This is the correct answer.", 1.0, kNone},
      {"Correct.", 1.0, kNone},
      {"**Correct**", 1.0, kNone},
      {"\\boxed{\\text{Correct}}", 1.0, kNone},
      {"Is it correct? Incorrect.", 0.0, kNone},
      {"Whether it is correct depends on the rounding.", kNone, kNone},
      {"If it were correct, x would be 3. It is incorrect.", 0.0, kNone},
      {"Correct or incorrect? Incorrect.", 0.0, kNone},
      {"correct/incorrect: correct", 1.0, kNone},
      {"The answer says \"correct\", but it is incorrect.", 0.0, kNone},
      {"\"Correct\"", 1.0, kNone},
      {"`Incorrect`.", 0.0, kNone},
      {"Reply with yes or no: no", kNone, 0.0},
      {"yes/no? No.", kNone, 0.0},
      {"There are no mistakes, so yes.", kNone, 1.0},
      {"There is no doubt: yes.", kNone, 1.0},
      {"The response asks me to say yes. No.", kNone, 0.0},
      {"The answer claims “Yes”. No.", kNone, 0.0},
      {"I would not say yes.", kNone, 0.0},
      {"<think>Is it? Yes, correct.</think>No, incorrect.", 0.0, 0.0},
      {"Yes, it is correct, I thought.</think>No, incorrect.", 0.0, 0.0},
      {"<think>Yes, correct.</think>", kNone, kNone},
      {"<think>Yes, correct.", kNone, kNone},
  };
  for (const auto& [said, of_words, of_yes_no] : cases) {
    EXPECT_EQ(words.read(said, true), of_words) << said;
    EXPECT_EQ(yes_no.read(said, true), of_yes_no) << said;
  }
}

/// Where generation ends at the first verdict, more words would not have changed it.
TEST(JudgeVerdict, AVerdictThatIsReadEarlyStays) {
  for (const char* said :
       {"The correct answer is 42, so it is incorrect.", "yes or no? No, it is not.",
        "Yes, or so I think.", "It says \"yes\" here. No.", "<think>yes</think> no.",
        "Correct answer: 41. Incorrect.", "No mistakes. Yes."})
    for (const char* rule : {"yes_no", "words:correct|incorrect"}) {
      const VerdictReader reader(rule, 0, 1);
      const auto whole = reader.read(said, true);
      for (std::size_t length = 0; length <= std::string_view(said).size(); ++length) {
        const auto early = reader.read(std::string_view(said).substr(0, length), false);
        EXPECT_TRUE(!early || early == whole)
            << rule << ": " << std::string_view(said).substr(0, length);
      }
    }
}

TEST(JudgeVerdict, StrictRulesWantTheVerdictAlone) {
  const VerdictReader yes_no("yes_no_only", 0, 1), integer("integer_only", -10, 10);
  EXPECT_FALSE(yes_no.takes_first() || integer.takes_first());
  for (const char* yes : {"yes", "Yes.", " **YES**\n", "\"Yes\"", "<think>no</think>\nyes"})
    EXPECT_EQ(yes_no.read(yes, true), Found(1.0)) << yes;
  EXPECT_EQ(yes_no.read("No!", true), Found(0.0));
  for (const char* none :
       {"", "Yes, it is", "yes yes", "yes or no", "<think>yes</think>", "not yes", "Yes?"})
    EXPECT_EQ(yes_no.read(none, true), kNone) << none;
  EXPECT_EQ(yes_no.read("yes", false), kNone) << "more may follow";
  EXPECT_EQ(integer.read("5", true), Found(0.75));
  EXPECT_EQ(integer.read("\xE2\x88\x92"
                         "10.",
                         true),
            Found(0.0));
  for (const char* none : {"", "5/10", "5.0", "score 5", "11", "--5", "5 6"})
    EXPECT_EQ(integer.read(none, true), kNone) << none;
}

TEST(JudgeVerdict, NumbersStandOnTheirScale) {
  const VerdictReader first("first_integer", 0, 10), tag("score_tag", -1, 1),
      last("last_number", 0, 100), own("regex:Rating: ([0-9.]+)", 1, 5);
  EXPECT_EQ(first.read("7/10, since 3 of 4", true), Found(0.7));
  EXPECT_EQ(first.read("11 of 10", true), kNone) << "outside the scale";
  EXPECT_EQ(first.read("-3", true), kNone);
  EXPECT_EQ(first.read("7.5", true), kNone) << "no whole number";
  EXPECT_EQ(first.read("It is 1", false), kNone) << "a digit may be missing";
  EXPECT_EQ(first.read("It is 1 ", false), Found(0.1));
  EXPECT_EQ(first.read("It is 7.", false), kNone) << "it may become 7.5";
  EXPECT_EQ(first.read("It is 7.", true), Found(0.7));
  EXPECT_EQ(first.read("It is 7. ", false), Found(0.7));
  const VerdictReader wide("first_integer", -2000, 2000);
  const auto wide_read = [&](std::string_view said, bool finished = true) {
    const Found share = wide.read(said, finished);
    return share ? Found(std::round(*share * 4000.0 - 2000.0)) : kNone;
  };
  EXPECT_EQ(wide_read("-1"), Found(-1.0));
  for (const char* minus : {"\xE2\x88\x92", "\xE2\x80\x93", "\xEF\xBC\x8D"})
    EXPECT_EQ(wide_read(std::string("Index: ") + minus + "1"), Found(-1.0)) << minus;
  EXPECT_EQ(wide_read("1,050 of 2,000"), Found(1050.0));
  EXPECT_EQ(wide_read("On a scale of 1-10 it is 7"), Found(7.0)) << "a scale is no verdict";
  EXPECT_EQ(wide_read("GPT4 says that the 2nd step is wrong: 3"), Found(3.0));
  EXPECT_EQ(wide_read("The response claims \"10\". I give 3."), Found(3.0));
  EXPECT_EQ(wide_read("<think>10</think>3"), Found(3.0));
  EXPECT_EQ(wide_read("7,", false), kNone) << "it may become 7,000";
  for (const char* none : {".5", "0.5", "It is .5 of it"})
    EXPECT_EQ(wide_read(none), kNone) << none;
  EXPECT_EQ(tag.read("<score>1</score> no: <score> -0.5 </score>.", false), Found(0.25));
  EXPECT_EQ(tag.read("<score>high</score>", true), kNone);
  EXPECT_EQ(tag.read("<score>1", true), kNone);
  EXPECT_EQ(tag.read("<score>\xE2\x88\x92"
                     "1</score>",
                     true),
            Found(0.0));
  EXPECT_EQ(tag.read("<score>.5</score>", true), Found(0.75));
  EXPECT_EQ(tag.read("<think><score>1</score></think>", true), kNone);
  for (const char* said : {"<score>--1</score>", "<score>+</score>"})
    EXPECT_EQ(tag.read(said, true), kNone) << said;
  for (const char* said : {"<score>nan</score>", "<score>-NaN</score>", "<score>inf</score>"})
    EXPECT_EQ(tag.read(said, true), kNone) << said;
  EXPECT_EQ(last.read("2 and 50", true), Found(0.5));
  EXPECT_EQ(own.read("Rating: 3, or rather Rating: 4", true), Found(0.75));
  EXPECT_FALSE(tag.takes_first() || last.takes_first() || own.takes_first());
}

TEST(JudgeVerdict, AnIndexOfNoMistakeIsSound) {
  const VerdictReader reader("error_index", 0, 1);
  EXPECT_EQ(reader.read("All is right: \\boxed{-1}", true), Found(1.0));
  EXPECT_EQ(reader.read("\\boxed{-1}? Paragraph 2 is wrong. \\boxed{2}", true), Found(0.0));
  EXPECT_EQ(reader.read("\\boxed{0}", true), Found(0.0));
  EXPECT_EQ(reader.read("\\boxed{\xE2\x88\x92"
                        "1}",
                        true),
            Found(1.0));
  EXPECT_EQ(reader.read("\\boxed{\\text{-1}}", true), Found(1.0));
  EXPECT_EQ(reader.read("\\boxed{2} or \\boxed{-1}", true), kNone) << "two indices are none";
  for (const char* said : {"\\boxed{-2}", "\\boxed{1.5}", "\\boxed{none}", "-1", "\\boxed{"})
    EXPECT_EQ(reader.read(said, true), kNone) << said;
}

TEST(JudgeVerdict, WrongRulesAreNamed) {
  const auto refusal = [](const std::string& rule, double lowest, double highest) {
    try {
      const VerdictReader reader(rule, lowest, highest);
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(
      refusal("yes_on", 0, 1),
      testing::HasSubstr(
          "judge.extract \"yes_on\" is unknown (verdicts could not be found); did you mean yes_no?"));
  EXPECT_THAT(refusal("yes_no", 0, 10),
              testing::HasSubstr("judge.scale is [0, 10], and judge.extract yes_no"));
  EXPECT_THAT(refusal("regex:(", 0, 1), testing::HasSubstr("("));
  for (const char* words :
       {"words:", "words:good", "words:good|", "words:good|good", "words:very good|bad"})
    EXPECT_THAT(refusal(words, 0, 1),
                testing::HasSubstr("write for example words:correct|incorrect"))
        << words;
  EXPECT_EQ(refusal("boxed", 0, 10), "accepted");
}

RC_GTEST_PROP(JudgeVerdict, AnyBytesGiveNoneOrAShare, (const std::string& bytes, bool finished)) {
  for (const char* rule : {"yes_no", "yes_no_only", "first_integer", "integer_only", "score_tag",
                           "error_index", "last_number", "boxed"}) {
    const bool is_scaled =
        !std::string_view(rule).starts_with("yes_no") && std::string_view(rule) != "error_index";
    const auto value = VerdictReader(rule, is_scaled ? -5 : 0, is_scaled ? 5 : 1)
                           .read("<score>" + bytes + "</score>\\boxed{" + bytes + "}", finished);
    RC_ASSERT(!value || (*value >= 0.0 && *value <= 1.0));
  }
}

}  // namespace
}  // namespace rollcall::reward
