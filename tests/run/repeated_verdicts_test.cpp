// A verdict that a clock may have ended is repeated from what was stored, whether a command or the
// sandbox gave it, and nothing else is. Answers that nothing can judge are not graded.
#include "run/scoring/repeated_verdicts.hpp"

#include "core/derived_prompt.hpp"
#include "io/archive.hpp"
#include "io/sample_run.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/purposes.hpp"
#include "run/scoring/conversation_score.hpp"
#include "run/scoring/pending_shard.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

/// A job whose run folder has one shard set aside, the first of whose rollouts came to no verdict.
struct SetAside {
  io::test::RunFolder run;
  io::test::Sample sample = io::test::sample(1, 2, 2);
  RunContext context;
  explicit SetAside(const char* verifier) {
    for (auto& group : sample.shard.groups) group.from = {};  // prompts of the task, as they are
    for (auto& group : sample.scores.scores)
      for (auto& score : group) score.undecided = score.clock_ended = false;
    sample.scores.component_names = {"correct", "format", "passed"};
    for (auto& group : sample.scores.scores)
      for (auto& score : group) score.components = {0.0, 1.0, 0.5};
    flagged() = {.components = {0.0, 1.0, 0.5},
                 .reward = 0.25,
                 .answer = "f",
                 .undecided = true,
                 .reason = "test 1 of 2: timed out: wall clock"};
    io::test::write(run, sample);
    io::set_aside_unfinished(run, {});
    context.run_dir = run.path();
    context.grading.grader.emplace(reward::find_verifier(verifier), TaskSection{});
    context.threads.pool = std::make_unique<WorkerPool>(1);
    for (std::size_t g = 0; g < sample.shard.groups.size(); ++g) {
      const std::size_t id = sample.shard.groups[g].id.prompt.value;
      if (context.texts.prompts.train.size() <= id) context.texts.prompts.train.resize(id + 1);
      context.texts.prompts.train[id].text = sample.prompts[g].text,
      context.texts.prompts.train[id].answer = sample.prompts[g].answer;
    }
  }
  Score& flagged() { return sample.scores.scores[0][0]; }
  const Group& group() const { return sample.shard.groups[0]; }
  const Prompt& prompt() const { return context.texts.prompts.train[group().id.prompt.value]; }
  RepeatedVerdicts repeated() const { return {context.run_dir, *context.grading.grader}; }
  const Score* found(const Rollout& rollout) const {
    return repeated().find(Purpose::train, group().id, rollout, prompt());
  }
};

TEST(RepeatedVerdicts, OfCodeAreFoundByAddressAndContent) {
  SetAside s("code");
  const Rollout& rollout = s.group().rollouts[0];
  const RepeatedVerdicts repeated = s.repeated();
  const Score* stored = repeated.find(Purpose::train, s.group().id, rollout, s.prompt());
  ASSERT_NE(stored, nullptr);
  EXPECT_TRUE(io::test::same(*stored, s.flagged()));
  Rollout other = rollout;
  other.text += "#";
  EXPECT_EQ(s.found(other), nullptr) << "another response";
  other = rollout, ++other.sample;
  EXPECT_EQ(s.found(other), nullptr) << "another sample, or one that was decided";
  EXPECT_EQ(repeated.find(Purpose::eval, s.group().id, rollout, s.prompt()), nullptr);
  Prompt changed = s.prompt();
  changed.answer += "1";
  EXPECT_EQ(repeated.find(Purpose::train, s.group().id, rollout, changed), nullptr)
      << "another reference";
}

TEST(RepeatedVerdicts, VerifiersWithoutAClockJudgeAgain) {
  const SetAside s("exact_match");
  EXPECT_EQ(s.found(s.group().rollouts[0]), nullptr);
}

/// Makes the shard one of answers to programs' tests, all of which ended by themselves.
void set_tests_aside(SetAside& s) {
  for (auto& prompt : s.context.texts.prompts.train)
    prompt.answer = R"({"type": "assert", "code": "assert True"})";
  for (std::size_t g = 0; g < s.sample.prompts.size(); ++g)
    s.sample.prompts[g].answer =
        s.context.texts.prompts.train[s.sample.shard.groups[g].id.prompt.value].answer;
  for (auto& group : s.sample.shard.groups)
    for (auto& rollout : group.rollouts) rollout.finish = FinishReason::stop;
  std::filesystem::remove_all(s.run.path() / "set_aside");
  io::test::write(s.run, s.sample);
  io::set_aside_unfinished(s.run, {});
}

TEST(RepeatedVerdicts, StandInPlaceOfTheVerifiers) {
  SetAside s("code");
  set_tests_aside(s);
  const RepeatedVerdicts repeated = s.repeated();
  PendingShard open({&s.context.texts, &s.context.grading, &repeated}, {}, s.sample.shard, 0.0);
  for (std::size_t at = 0; at < open.size(); ++at) open.put(at, open.judge(at), 0.0);
  const GradedShard judged = std::move(open).close();
  const ScoredShard& scores = judged.scores;
  EXPECT_TRUE(io::test::same(scores.scores[0][0], s.flagged()));
  EXPECT_EQ(judged.facts.repeated, 1U);
  std::size_t asked = 0;
  for (const auto& group : scores.scores)
    for (const Score& score : group) asked += score.reason == "the sandbox was not started" ? 1 : 0;
  EXPECT_EQ(asked, judged.facts.seconds.size()) << "every other rollout is judged";
  EXPECT_GT(asked, 0U);
}

/// The environment may lose a conversation that it had not lost before the stop. What was judged
/// then is not what the archive says now.
TEST(RepeatedVerdicts, StandInPlaceOfNoEnvironment) {
  SetAside s("code");
  set_tests_aside(s);
  const RepeatedVerdicts repeated = s.repeated();
  Rollout& lost = s.sample.shard.groups[0].rollouts[0];
  ASSERT_NE(s.found(lost), nullptr);
  lost.finish = FinishReason::lost;
  lost.facts.assign(lost.turns.size(), {.flags = turn_flag::ended});
  for (TurnFacts& facts : lost.facts) facts.reason = "it died";
  PendingShard open({&s.context.texts, &s.context.grading, &repeated}, {}, s.sample.shard, 0.0);
  for (std::size_t at = 0; at < open.size(); ++at) open.put(at, open.judge(at), 0.0);
  const GradedShard judged = std::move(open).close();
  EXPECT_EQ(judged.scores.scores[0][0].reason, "it died");
  EXPECT_EQ(judged.facts.repeated, 0U);
  std::uint64_t settled = 0, all = 0;
  for (const auto& group : s.sample.shard.groups)
    for (const Rollout& rollout : group.rollouts) settled += is_settled(rollout) ? 1 : 0, ++all;
  EXPECT_EQ(judged.facts.settled, settled);
  EXPECT_EQ(count_of(judged.facts), all) << "every verdict is counted once";
}

/// An answer that names what is wrong with another one was asked something that no grader knows.
/// Where it were undecided, no second question could be made of it.
TEST(PendingShard, AnswersThatNameAnErrorAreNotGraded) {
  RewardSection command;
  command.command = {"a program"}, command.components = {"style"};
  Grading grading;
  grading.grader.emplace(reward::find_verifier("exact_match"), TaskSection{}, command);
  RunTexts texts;
  texts.prompts.train.resize(8);
  const RepeatedVerdicts none("a folder that is not there",
                              reward::Grader(reward::find_verifier("exact_match"), TaskSection{}));
  const PromptId asked = derived_number(DerivedKind::error, 3, 0);
  ShardNotice notice;
  RolloutShard shard;
  shard.step = 3;
  for (const DerivedKind kind : {DerivedKind::none, DerivedKind::error}) {
    Group group{.id = {3, kind == DerivedKind::none ? PromptId{7} : asked, 0}, .rollouts = {}};
    group.from.kind = kind;
    if (kind != DerivedKind::none)
      group.from.parent = {3, {7}, 0}, group.from.placement = Placement::trains_nowhere;
    group.rollouts.push_back({.sample = 0, .turns = {}, .text = "2 + 2 = 5"});
    shard.groups.push_back(group);
  }
  DerivedPrompt question;
  question.prompt.id = asked, question.from = shard.groups[1].from;
  notice.derived = {question};
  PendingShard open({&texts, &grading, &none}, notice, shard, 0.0);
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open.sample(0), sample_id(Purpose::train, shard.groups[0].id, 0));
  open.put(0, grading.grader->score(reward::Reply{.score = 1.0, .correct = true}, "", true), 0.0);
  const GradedShard judged = std::move(open).close();
  const Score& named = judged.scores.scores[1][0];
  EXPECT_FALSE(named.undecided || named.correct);
  EXPECT_EQ(named.reward, 0.0);
  EXPECT_EQ(named.components, (std::vector<double>{0.0, 0.0}));
}

}  // namespace
}  // namespace rollcall::run
