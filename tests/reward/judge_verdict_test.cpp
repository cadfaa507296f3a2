// Verdicts as numbers: each rule on what judges write, on what the token limit cut, and on what is none.
#include "reward/judge_verdict.hpp"

#include "base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::reward {
namespace {

using Found = std::optional<double>;
constexpr Found kNone = std::nullopt;

TEST(JudgeVerdict, YesOrNoIsTheFirstSuchWord) {
  const VerdictReader reader("yes_no", 0, 1);
  EXPECT_TRUE(reader.takes_first());
  const std::pair<const char*, Found> cases[] = {
      {"Yes.", 1.0}, {"NO", 0.0},     {"I think: no, not yes", 0.0}, {"**Yes**", 1.0}, {"Yesterday, no.", 0.0}, {"eyes and nose", kNone},
      {"", kNone},   {"maybe", kNone}};
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

TEST(JudgeVerdict, NumbersStandOnTheirScale) {
  const VerdictReader first("first_integer", 0, 10), tag("score_tag", -1, 1), last("last_number", 0, 100), own("regex:Rating: ([0-9.]+)", 1, 5);
  EXPECT_EQ(first.read("7/10, since 3 of 4", true), Found(0.7));
  EXPECT_EQ(first.read("11 of 10", true), kNone) << "outside the scale";
  EXPECT_EQ(first.read("-3", true), kNone);
  EXPECT_EQ(first.read("7.5", true), kNone) << "no whole number";
  EXPECT_EQ(first.read("It is 1", false), kNone) << "a digit may be missing";
  EXPECT_EQ(first.read("It is 1 ", false), Found(0.1));
  EXPECT_EQ(first.read("It is 7.", false), kNone) << "it may become 7.5";
  EXPECT_EQ(first.read("It is 7.", true), Found(0.7));
  EXPECT_EQ(first.read("It is 7. ", false), Found(0.7));
  EXPECT_EQ(tag.read("<score>1</score> no: <score> -0.5 </score>.", false), Found(0.25));
  EXPECT_EQ(tag.read("<score>high</score>", true), kNone);
  EXPECT_EQ(tag.read("<score>1", true), kNone);
  for (const char* said : {"<score>nan</score>", "<score>-NaN</score>", "<score>inf</score>"}) EXPECT_EQ(tag.read(said, true), kNone) << said;
  EXPECT_EQ(last.read("2 and 50", true), Found(0.5));
  EXPECT_EQ(own.read("Rating: 3, or rather Rating: 4", true), Found(0.75));
  EXPECT_FALSE(tag.takes_first() || last.takes_first() || own.takes_first());
}

TEST(JudgeVerdict, AnIndexOfNoMistakeIsSound) {
  const VerdictReader reader("error_index", 0, 1);
  EXPECT_EQ(reader.read("All is right: \\boxed{-1}", true), Found(1.0));
  EXPECT_EQ(reader.read("\\boxed{-1}? Paragraph 2 is wrong. \\boxed{2}", true), Found(0.0));
  EXPECT_EQ(reader.read("\\boxed{0}", true), Found(0.0));
  for (const char* said : {"\\boxed{-2}", "\\boxed{1.5}", "\\boxed{none}", "-1", "\\boxed{"}) EXPECT_EQ(reader.read(said, true), kNone) << said;
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
  EXPECT_THAT(refusal("yes_on", 0, 1), testing::HasSubstr("judge.extract \"yes_on\" is unknown (verdicts could not be found); did you mean yes_no?"));
  EXPECT_THAT(refusal("yes_no", 0, 10), testing::HasSubstr("judge.scale is [0, 10], and judge.extract yes_no"));
  EXPECT_THAT(refusal("regex:(", 0, 1), testing::HasSubstr("("));
  for (const char* words : {"words:", "words:good", "words:good|", "words:good|good", "words:very good|bad"})
    EXPECT_THAT(refusal(words, 0, 1), testing::HasSubstr("write for example words:correct|incorrect")) << words;
  EXPECT_EQ(refusal("boxed", 0, 10), "accepted");
}

RC_GTEST_PROP(JudgeVerdict, AnyBytesGiveNoneOrAShare, (const std::string& bytes, bool finished)) {
  for (const char* rule : {"yes_no", "first_integer", "score_tag", "error_index", "last_number", "boxed"}) {
    const bool is_scaled = std::string_view(rule) != "yes_no" && std::string_view(rule) != "error_index";
    const auto value = VerdictReader(rule, is_scaled ? -5 : 0, is_scaled ? 5 : 1).read("<score>" + bytes + "</score>\\boxed{" + bytes + "}", finished);
    RC_ASSERT(!value || (*value >= 0.0 && *value <= 1.0));
  }
}

}  // namespace
}  // namespace rollcall::reward
