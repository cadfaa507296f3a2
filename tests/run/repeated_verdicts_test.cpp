// A verdict that a clock may have ended is repeated from what was stored, whether a command or the
// sandbox gave it, and nothing else is.
#include "run/scoring/repeated_verdicts.hpp"

#include "io/archive.hpp"
#include "io/sample_run.hpp"
#include "run/context/run_context.hpp"
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

TEST(RepeatedVerdicts, StandInPlaceOfTheVerifiers) {
  SetAside s("code");
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

}  // namespace
}  // namespace rollcall::run
