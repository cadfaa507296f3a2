// Where references stand and who judges by them, for files with the marker, without it, and with
// both.
#include "task/answer_source.hpp"

#include "base/errors/error.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcall::task {
namespace {

const std::string kMarked = "{\"question\": \"q\", \"answer\": \"1 + 1\\n#### 2\"}\n",
                  kPlain = "{\"question\": \"r\", \"answer\": \"2\"}\n",
                  kList = "{\"question\": \"s\", \"answer\": [\"2\", \"two\"]}\n";

struct Settled {
  TaskSection task;
  RewardSection reward;
  std::string said;
};

Settled settled(const std::string& lines, const std::string& heldout = "",
                RewardSection reward = {}, const std::string& marker = kAutoMarker) {
  const rollcall::testing::TemporaryFolder folder;
  Settled s{.task = {}, .reward = std::move(reward), .said = {}};
  s.task.name = "file", s.task.file = folder.write("train.jsonl", lines),
  s.task.answer_marker = marker;
  if (!heldout.empty()) s.task.heldout_file = folder.write("test.jsonl", heldout);
  s.said = settle_answers(s.task, s.reward);
  return s;
}

TEST(AnswerSource, TheMarkerCountsWhereAllAnswersHoldIt) {
  const Settled s = settled(kMarked + kMarked + kList, kMarked);
  EXPECT_EQ(s.task.answer_marker, "####");
  EXPECT_EQ(s.reward.verifier, "");
}

TEST(AnswerSource, WithoutItTheWholeAnswerIsTheReferenceAndMathJudges) {
  const Settled s = settled(kPlain + kList + kPlain);
  EXPECT_EQ(s.task.answer_marker, "");
  EXPECT_EQ(s.reward.verifier, "math");
  EXPECT_NE(
      s.said.find(
          "no answer holds \"####\": the whole answer is the reference, and the verifier math judges by it"),
      std::string::npos)
      << s.said;
}

TEST(AnswerSource, AChosenJudgeStays) {
  RewardSection verifier, command;
  verifier.verifier = "multiple_choice", command.command = {"./grade"};
  EXPECT_EQ(settled(kPlain, "", verifier).reward.verifier, "multiple_choice");
  EXPECT_EQ(settled(kPlain, "", command).reward.verifier, "");
  EXPECT_EQ(settled(kPlain, "", command).task.answer_marker, "");
}

TEST(AnswerSource, AChosenMarkerStays) {
  const Settled s = settled(kPlain, "", {}, "Answer:");
  EXPECT_EQ(s.task.answer_marker, "Answer:");
  EXPECT_EQ(s.reward.verifier, "");
  EXPECT_EQ(s.said, "");
}

TEST(AnswerSource, AnEmptyAnswerDecidesNothing) {  // the reader names it
  const std::string empty = "{\"question\": \"t\", \"answer\": \" \"}\n";
  EXPECT_EQ(settled(kMarked + empty).task.answer_marker, "####");
  EXPECT_EQ(settled(empty + kPlain).task.answer_marker, "");
}

TEST(AnswerSource, WithoutValidationsNoRowIsKeptForThem) {
  TaskSection task;
  task.name = "file", task.file = "q.jsonl", task.validation_prompts = -1;
  EXPECT_TRUE(follows_rows(task));
  TaskSection validates = task, chosen = task, earlier = task;
  EXPECT_NE(settle_validation(task, 0).find(
                "q.jsonl: no row is kept for validations, since eval.every is 0"),
            std::string::npos);
  EXPECT_EQ(task.validation_prompts, 0);
  EXPECT_EQ(settle_validation(validates, 5), "");
  EXPECT_EQ(validates.validation_prompts, -1);
  chosen.validation_prompts = 7, earlier.split = "by_row";
  EXPECT_EQ(settle_validation(chosen, 0), "");
  EXPECT_EQ(chosen.validation_prompts, 7);
  EXPECT_EQ(settle_validation(earlier, 0), "");
  EXPECT_EQ(earlier.validation_prompts, -1) << "an earlier build kept its rows";
}

std::string refusal(const std::string& lines, const std::string& heldout,
                    const RewardSection& reward = {}) {
  try {
    settled(lines, heldout, reward);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(AnswerSource, RowsOfBothKindsInAFileAreNamed) {
  const std::string said = refusal(kMarked + kPlain, "");
  EXPECT_NE(said.find("train.jsonl:2 has no"), std::string::npos) << said;
  EXPECT_NE(said.find("train.jsonl:1 has"), std::string::npos) << said;
}

TEST(AnswerSource, FilesOfBothKindsAreJudgedByMath) {
  const Settled s = settled(kMarked, kPlain);
  EXPECT_EQ(s.task.answer_marker, kAutoMarker);
  EXPECT_EQ(s.reward.verifier, "math");
  RewardSection marked;
  marked.verifier = "marked_answer";
  EXPECT_NE(refusal(kMarked, kPlain, marked).find("looks for one marker in all answers"),
            std::string::npos);
}

TEST(AnswerSource, RowsThatNoVerifierFitsAreNamed) {
  const std::string riddle = "{\"nums\": [3, 4], \"target\": 7}\n";
  EXPECT_EQ(settled(riddle).reward.verifier, "countdown_expression");
  const std::string said = refusal(kPlain, riddle);
  EXPECT_NE(said.find("test.jsonl:1 is judged by the verifier countdown_expression"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("train.jsonl:1 by math"), std::string::npos) << said;
}

}  // namespace
}  // namespace rollcall::task
