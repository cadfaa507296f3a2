// Every verifier on hand-worked responses, and the scalar reward.
#include "reward/verifier.hpp"

#include "base/errors/error.hpp"
#include "text/answer/accepted_answers.hpp"
#include "text/answer/answer_form.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

namespace rollcall::reward {
namespace {

Prompt prompt_of(const std::string& answer) {
  Prompt prompt;
  prompt.answer = answer;
  return prompt;
}

Score judge(const char* verifier, const std::string& reference, std::string_view response,
            bool finished = true) {
  return Grader(find_verifier(verifier), TaskSection{})
      .score(prompt_of(reference), response, finished);
}

/// The same with another way to find the answer.
Score judge_by(const std::string& extract, const char* verifier, const std::string& reference,
               std::string_view response, bool finished = true) {
  TaskSection section;
  section.extract = extract;
  return Grader(find_verifier(verifier), section).score(prompt_of(reference), response, finished);
}

/// What a judge says, in one line: correct, format, answer.
std::string verdict(const Score& s) {
  EXPECT_EQ(s.components.size(), 2U);
  EXPECT_EQ(s.correct, s.components[0] == 1.0);
  return std::to_string(int(s.components[0])) + std::to_string(int(s.components[1])) + " " +
         s.answer;
}

TEST(SeveralAnswers, EachIsAccepted) {
  const std::string accepted = R"(["4","four"])";
  EXPECT_TRUE(judge("exact_match", accepted, "four").correct);
  EXPECT_FALSE(judge("exact_match", accepted, "five").correct);
  EXPECT_FALSE(judge("exact_match", accepted, accepted).correct) << "the list itself is no answer";
  EXPECT_TRUE(judge("math", R"(["\\frac{1}{2}","one half"])", "The answer is 0.5.").correct);
  EXPECT_TRUE(judge("math", "[1, 2]", "The answer is [1, 2].").correct)
      << "an interval is one answer";
  // Where none is met, one that could not be decided leaves it open.
  const std::string open = R"(["7","x^2 = \\sin x + 1"])";
  EXPECT_EQ(judge("math", open, "The answer is x^2 - \\sin x = 1.").undecided,
            judge("math", "x^2 = \\sin x + 1", "The answer is x^2 - \\sin x = 1.").undecided);
  EXPECT_TRUE(judge("math", open, "The answer is 7.").correct);
}

TEST(SeveralAnswers, AreNotReadIntoATextThatLooksLikeThem) {
  const std::string text = R"(["a", "b"])", reference = text::accepting(text);
  EXPECT_TRUE(judge("exact_match", reference, text).correct);
  EXPECT_FALSE(judge("exact_match", reference, "a").correct);
  const std::string list = text::accepting(std::vector<std::string>{text, "c"});
  EXPECT_TRUE(judge("exact_match", list, text).correct)
      << "one of the accepted answers looks like a list";
  EXPECT_TRUE(judge("exact_match", list, "c").correct);
  EXPECT_FALSE(judge("exact_match", list, "a").correct);
}

/// What a prompt asked in one of task.forms is judged by.
TEST(Forms, EachIsJudgedByItsOwnParser) {
  TaskSection section;
  section.forms = {"boxed", "think", "plain"}, section.format_weight = 1.0;
  const Grader judge(find_verifier("integer_answer"), section);
  const auto said = [&](const char* form, std::string_view response, bool finished = true) {
    Prompt prompt = prompt_of("357");
    prompt.text = text::asked_in(text::find_answer_form(form), "12+345=");
    return judge.score(prompt, response, finished);
  };
  EXPECT_EQ(said("boxed", "It is \\boxed{357}.").reward, 2.0);
  // no box is no answer; the form asks for no mark
  EXPECT_EQ(said("boxed", "<think></think><answer>357</answer>").reward, 1.0);
  EXPECT_EQ(said("think", "<think>7</think><answer>357</answer>", false).reward, 2.0);
  EXPECT_EQ(said("think", "<answer>357</answer>").reward, 1.5);
  EXPECT_EQ(said("think", "<think></think><answer>7</answer>").reward, 1.0);
  EXPECT_EQ(said("think", "\\boxed{357}").reward, 0.0);
  EXPECT_EQ(said("plain", "357").reward, 2.0);
  EXPECT_EQ(said("plain", "\\boxed{357}").reward, 0.0);
  EXPECT_EQ(judge.extraction(), "boxed");
}

TEST(ExactMatch, HandWorked) {
  EXPECT_EQ(verdict(judge("exact_match", "1379", "1379")), "11 1379");
  EXPECT_EQ(verdict(judge("exact_match", "1379", "1379 \n")), "11 1379");
  EXPECT_EQ(verdict(judge("exact_match", "1379", "1397")), "01 1397");
  EXPECT_EQ(verdict(judge("exact_match", "1379", "01379")), "01 01379");
  EXPECT_EQ(verdict(judge("exact_match", "1379", "1379>")), "00 ");
  EXPECT_EQ(verdict(judge("exact_match", "1379", "")), "00 ");
  // the limit may have cut "13795"
  EXPECT_EQ(verdict(judge("exact_match", "1379", "1379", false)), "00 ");
}

TEST(IntegerAnswer, HandWorked) {
  EXPECT_EQ(verdict(judge("integer_answer", "-333", "-333\n")), "11 -333");
  EXPECT_EQ(verdict(judge("integer_answer", "-333", "333")), "01 333");
  EXPECT_EQ(verdict(judge("integer_answer", "0", "0")), "11 0");
  for (const char* text : {"", "-", "-0", "007", "+7", "7.0", "7a", "--7", "1 2", "0x7", "28r9",
                           "1,00", "$7", "7 or 8"}) {
    EXPECT_EQ(verdict(judge("integer_answer", "7", text)), "00 ") << text;
  }
  // nothing overflows
  EXPECT_EQ(verdict(judge("integer_answer", "7", std::string(5000, '7'))),
            "01 " + std::string(5000, '7'));
  EXPECT_EQ(verdict(judge("integer_answer", "7", "7", false)), "00 ");
  EXPECT_EQ(verdict(judge("integer_answer", "1234567", "1,234,567")), "11 1234567");
  EXPECT_EQ(verdict(judge("integer_answer", "-42",
                          "\xE2\x88\x92"
                          "42")),
            "11 -42");
  EXPECT_EQ(verdict(judge("integer_answer", "42",
                          "\xE2\x88\x92"
                          "42")),
            "01 -42");
}

TEST(IntegerAnswer, DivisionIsQuotientRRemainder) {
  EXPECT_EQ(verdict(judge("integer_answer", "28r9", "28r9")), "11 28r9");
  EXPECT_EQ(verdict(judge("integer_answer", "28r9", "28r8")), "01 28r8");
  EXPECT_EQ(verdict(judge("integer_answer", "28r0", "28r0")), "11 28r0");
  for (const char* text : {"28", "28r", "r9", "28r-9", "28r09", "28 r 9", "28r9r9", "28R9"})
    EXPECT_EQ(verdict(judge("integer_answer", "28r9", text)), "00 ") << text;
}

TEST(CountdownExpression, HandWorked) {
  const auto say = [](std::string_view response, bool finished = true) {
    return verdict(judge("countdown_expression", "3 5 7 25=40", response, finished));
  };
  EXPECT_EQ(say("25+3*5"), "11 40");
  EXPECT_EQ(say(" 5*3 + 25\n"), "11 40");
  EXPECT_EQ(say("25+3*5", false), "00 ");
  EXPECT_EQ(say("25+5*7"), "01 60");  // within the rules, another value
  EXPECT_EQ(say("25+5+5+5"), "01 ");  // 40, but 5 was given once
  EXPECT_EQ(say("40"), "01 ");        // 40 was not given
  EXPECT_EQ(say("7/3"), "01 7/3");
  EXPECT_EQ(say("25+3*5=40"), "00 ");
  EXPECT_EQ(say("1/0"), "00 ");
  EXPECT_EQ(say(""), "00 ");
}

TEST(CountdownExpression, ANumberGivenTwiceMayBeUsedTwice) {
  EXPECT_EQ(verdict(judge("countdown_expression", "6 6 2=36", "6*6")), "11 36");
  EXPECT_EQ(verdict(judge("countdown_expression", "6 6 2=12", "6+2+2+2")), "01 ");
}

TEST(CountdownExpression, ABrokenReferenceIsRefused) {
  for (const char* reference : {"", "3 5", "3=", "=5", "3=5=6", "a=1", "3,4=7"})
    EXPECT_THROW(judge("countdown_expression", reference, "3"), InputError) << reference;
}

TEST(MarkedAnswer, HandWorked) {
  const auto correct = [](std::string_view response, bool finished = true) {
    return judge("marked_answer", "18", response, finished).correct;
  };
  EXPECT_TRUE(correct("9 * 2 = 18\n#### 18"));
  EXPECT_TRUE(correct("####18"));
  EXPECT_TRUE(correct("#### $18.00.\n"));
  EXPECT_TRUE(correct("#### 17\nno:\n#### 18"));
  EXPECT_FALSE(correct("#### 18\nno:\n#### 17"));
  EXPECT_FALSE(correct("18"));
  EXPECT_FALSE(correct("####"));
  EXPECT_FALSE(correct("#### 180"));
  for (const char* same :
       {"#### **18**", "#### $18$", "#### 18 (see above)", "#### 18!", "#### \\boxed{18}",
        "#### 18, as shown", "<think>#### 17</think>#### 18"})
    EXPECT_TRUE(correct(same)) << same;
  for (const char* other :
       {"#### 17 or 18", "#### 18 or 17", "#### 18, 17", "#### 18 and 17", "#### 18 apples",
        "#### \xE2\x88\x92"
        "18"})
    EXPECT_FALSE(correct(other)) << other;
  EXPECT_FALSE(correct("#### 18", false));           // "180" may have been cut
  EXPECT_TRUE(correct("#### 18\nand then", false));  // the answer's line had ended
  EXPECT_EQ(judge("marked_answer", "1050", "#### 1,050").answer, "1050");
  EXPECT_TRUE(judge("marked_answer", "1,050.0", "#### 1050").correct);
  EXPECT_EQ(judge("marked_answer", "18", "no mark").answer, "");
}

TEST(MarkedAnswer, FormatIsTheMeanOfThree) {
  const auto format = [](std::string_view response, bool finished) {
    return judge("marked_answer", "18", response, finished).components[1];
  };
  EXPECT_DOUBLE_EQ(format("#### 18", true), 1.0);
  EXPECT_DOUBLE_EQ(format("#### 18", false), 2.0 / 3);
  EXPECT_DOUBLE_EQ(format("", true), 1.0 / 3);
  EXPECT_DOUBLE_EQ(format("", false), 0.0);
  EXPECT_DOUBLE_EQ(format("ab\xFF\x01", false), 0.5 / 3);
  EXPECT_DOUBLE_EQ(format("####", true), 2.0 / 3);
}

TEST(Verifiers, ComponentsBeginWithCorrectAndFormat) {
  EXPECT_EQ(verifier_names().size(), 18U);
  for (const auto& name : verifier_names()) {
    EXPECT_EQ(find_verifier(name).components.at(0), "correct");
    EXPECT_EQ(find_verifier(name).components.at(1), "format");
  }
}

TEST(Verifiers, ThoseWhoseAnswersAreNeverNumbersRefuseToLookForNumbers) {
  TaskSection section;
  section.extract = "last_number";
  for (const auto& name : verifier_names()) {
    const Verifier& row = find_verifier(name);
    if (row.answers == nullptr) {
      EXPECT_EQ(Grader(row, section).extraction(), "last_number");
    } else {
      EXPECT_THROW(Grader(row, section), ConfigError) << name;
    }
  }
}

TEST(Verifiers, UnknownNameNamesTheNearest) {
  try {
    find_verifier("exact_mach");
    FAIL() << "accepted";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean exact_match?"), std::string::npos)
        << e.what();
  }
}

TEST(Grader, RewardIsCorrectPlusWeightedFormat) {
  TaskSection section;
  section.format_weight = 0.25;
  const Grader judge(find_verifier("exact_match"), section);
  const auto reward = [&](const char* response, bool finished) {
    return judge.score(prompt_of("1379"), response, finished).reward;
  };
  EXPECT_DOUBLE_EQ(reward("1379", true), 1.25);
  EXPECT_DOUBLE_EQ(reward("1397", true), 0.25);
  EXPECT_DOUBLE_EQ(reward("abc", true), 0.0);
  EXPECT_DOUBLE_EQ(reward("1379", false), 0.0);
}

TEST(Extraction, AnswersWithinALongerResponse) {
  EXPECT_EQ(
      verdict(judge_by("last_number", "integer_answer", "-1050", "That is 50 - 1,100 = -1,050.")),
      "11 -1050");
  // the limit may have cut 420
  EXPECT_EQ(verdict(judge_by("last_number", "integer_answer", "42", "17 + 25 = 42", false)), "00 ");
  EXPECT_EQ(verdict(judge_by("last_number", "integer_answer", "7", "It is 7.5")), "00 ");
  EXPECT_EQ(verdict(judge_by("boxed", "integer_answer", "28r9", "so \\boxed{28r9}")), "11 28r9");
  EXPECT_EQ(
      verdict(judge_by("final_line", "countdown_expression", "3 5 7 25=40", "I try 3*5.\n25+3*5")),
      "11 40");
  // its zeros stay
  EXPECT_EQ(verdict(judge_by("last_number", "exact_match", "0379", "The digits are 0379.")),
            "11 0379");
  EXPECT_TRUE(judge_by("gsm8k_flexible", "marked_answer", "1050", "I get $1,050.").correct);
  EXPECT_FALSE(judge_by("gsm8k_strict", "marked_answer", "1050", "I get $1,050.").correct);
  EXPECT_EQ(verdict(judge_by("integer", "integer_answer", "7", "The answer is 7")), "00 ");
}

/// A verifier that throws costs the verdict, not the run.
TEST(Grader, AFailureIsAnUndecidedVerdict) {
  const Verifier fails{
      "fails",
      "",
      {"correct", "format"},
      "whole",
      nullptr,
      [](const Prompt&, const Response&) -> Score { throw std::runtime_error("no such table"); }};
  const Score score = Grader(fails, TaskSection{}).score(prompt_of("1"), "1", true);
  EXPECT_TRUE(score.undecided && !score.correct);
  EXPECT_EQ(score.reward, 0.0);
  EXPECT_EQ(score.components, (std::vector<double>{0, 0}));
  EXPECT_EQ(score.reason, "the verifier fails failed: no such table");
}

/// Its score is the reward, whatever it calls correct; the answer is found as the run file says,
/// for votes.
TEST(Grader, ACommandsReplyIsAScore) {
  RewardSection reward;
  reward.command = {"./grade"}, reward.components = {"style", "length"};
  TaskSection task;
  task.extract = "last_number";
  const Grader judge(find_verifier("exact_match"), task, reward);
  EXPECT_EQ(judge.components(), (std::vector<std::string>{"correct", "style", "length"}));
  EXPECT_EQ(judge.name(), "command");
  const Score score = judge.score(
      {.score = -0.5, .correct = true, .components = {2, 3}, .undecided = false, .reason = "why"},
      "It is 42.", true);
  EXPECT_EQ(score.components, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(score.reward, -0.5);
  EXPECT_TRUE(score.correct && !score.undecided);
  EXPECT_EQ(score.answer, "42");
  EXPECT_EQ(score.reason, "why");
  const Score undecided =
      judge.score({.components = {0, 0}, .undecided = true, .reason = "gone"}, "It is 42.", true);
  EXPECT_TRUE(undecided.undecided && undecided.answer.empty())
      << "a verdict repeated from a file has no answer either";
  EXPECT_EQ(undecided.components.size(), 3U);
}

TEST(Extraction, IsShown) {
  EXPECT_EQ(Grader(find_verifier("marked_answer"), TaskSection{}).extraction(), "marker ####");
  EXPECT_EQ(Grader(find_verifier("integer_answer"), TaskSection{}).extraction(), "whole");
}

TEST(Extraction, ThatCanNeverBeRightIsRefused) {
  TaskSection section;
  section.name = "arithmetic", section.extract = "last_number";
  // divisions are among the operators
  EXPECT_THROW(Grader(find_verifier("integer_answer"), section), ConfigError);
  section.operators = {"+", "-"};
  EXPECT_NO_THROW(Grader(find_verifier("integer_answer"), section));
  section.name = "countdown";
  EXPECT_THROW(Grader(find_verifier("countdown_expression"), section), ConfigError);
}

}  // namespace
}  // namespace rollcall::reward
