// Forms of questions: no two are confused, and a worked answer is read back as its form says.
#include "text/answer/answer_form.hpp"

#include "base/errors/error.hpp"
#include "text/answer/extract.hpp"

#include <gtest/gtest.h>

namespace rollcall::text {
namespace {

TEST(AnswerForm, EveryFormIsToldByWhatItAsks) {
  for (const AnswerForm& form : answer_forms())
    for (const AnswerForm& other : answer_forms())
      EXPECT_EQ(is_asked_in(other, asked_in(form, "12+345=")),
                &form == &other && form.instruction != nullptr)
          << form.name << " " << other.name;
  EXPECT_EQ(asked_in(find_answer_form("plain"), "12+345="), "12+345=");
  EXPECT_EQ(asked_in(find_answer_form("answer_tag"), "12+345=\n"),
            "12+345=\nGive the final answer within <answer> and </answer>.\n");
}

TEST(AnswerForm, WorkedAnswersAreReadBack) {
  for (const AnswerForm& form : answer_forms()) {
    if (form.instruction == nullptr) continue;
    const std::string worked = worked_in(form, "12 and 345 \\frac{1}{2}\n#### 357", "####");
    const auto found = Extractor(form.extract).find(worked, true);
    ASSERT_TRUE(found) << form.name << ": " << worked;
    EXPECT_EQ(found->text, "357") << form.name;
    EXPECT_NE(worked.find("12 and 345 \\frac{1}{2}"), std::string::npos) << form.name;
    EXPECT_EQ(share_of_marks(form, worked), 1.0) << form.name;
    EXPECT_EQ(Extractor(form.extract).find(worked_in(form, "28r9", "####"), true)->text, "28r9")
        << form.name;
  }
  EXPECT_EQ(worked_in(find_answer_form("plain"), "12\n#### 357", "####"), "12\n#### 357");
  // a draft
  EXPECT_EQ(worked_in(find_answer_form("think"), "7", "####"),
            "<think>7</think><answer>7</answer>");
  EXPECT_EQ(worked_in(find_answer_form("think_opened"), "7", ""), "7</think><answer>7</answer>");
}

/// arXiv:2602.03190, verl/utils/reward_score/format_reward.py: a quarter for each of four tags that
/// stands once.
TEST(AnswerForm, MarksCountWhereTheyStandOnce) {
  const AnswerForm& think = find_answer_form("think");
  EXPECT_EQ(share_of_marks(think, "<think></think><answer>7</answer>"), 1.0);
  EXPECT_EQ(share_of_marks(think, "<think><think></think><answer>7</answer>"), 0.75);
  EXPECT_EQ(share_of_marks(think, "<answer>7"), 0.25);
  EXPECT_EQ(share_of_marks(think, ""), 0.0);
  EXPECT_EQ(share_of_marks(find_answer_form("boxed"), ""), 1.0);
}

TEST(AnswerForm, AnUnknownNameIsToldTheNearest) {
  try {
    find_answer_form("boxd");
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean boxed"), std::string::npos) << e.what();
  }
}

TEST(Thought, IsEmptiedWhereThereIsOne) {
  EXPECT_EQ(without_thought("<think>7 and\n7</think><answer>14</answer>"),
            "<think></think><answer>14</answer>");
  EXPECT_EQ(without_thought("a<think>b</think><think>c</think>"),
            "a<think></think><think>c</think>");
  for (const char* text : {"", "14", "<think>7", "</think>7<think>", "<think></think>14"})
    EXPECT_EQ(without_thought(text), text);
}

}  // namespace
}  // namespace rollcall::text
