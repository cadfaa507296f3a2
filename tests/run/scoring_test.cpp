// What the coordinator hears of scored shards: rewards of decided rollouts, counts of the others,
// and how the verdicts came about.
#include "run/scoring/scoring.hpp"

#include "run/random_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::run {
namespace {

/// Four rollouts of one prompt: right, undecided, wrong, undecided.
struct Judged {
  RolloutShard shard;
  ScoredShard scores;
  explicit Judged(Purpose purpose) {
    io::test::Dice dice(3);
    shard.purpose = scores.purpose = purpose;
    Group group{.id = {3, {7}, 0}, .level = 2, .rollouts = {}};
    for (std::uint32_t i = 0; i < 4; ++i) group.rollouts.push_back(random_rollout(dice, i));
    shard.groups.push_back(group);
    scores.scores.push_back({{.components = {1}, .reward = 1.5, .correct = true, .answer = "a"},
                             {.components = {0}, .reward = 0.0, .undecided = true},
                             {.components = {0}, .reward = 0.25, .answer = "b"},
                             {.components = {0}, .reward = 0.0, .undecided = true}});
  }
  GroupReport report(Undecided undecided) const {
    return run::report(shard, scores, undecided).groups.at(0);
  }
};

TEST(ScoringStage, ReportsWhatWasDecided) {
  const Judged train(Purpose::train);
  const GroupReport dropped = train.report(Undecided::drop);
  EXPECT_EQ(dropped.rewards, (std::vector<double>{1.5, 0.25}));
  EXPECT_EQ(dropped.correct, (std::vector<std::uint8_t>{1, 0}));
  EXPECT_EQ(dropped.dropped, 2U);
  EXPECT_EQ(drawn(dropped), 4);
  EXPECT_EQ(dropped.lengths.size(), 2U);
  const GroupReport wrong = train.report(Undecided::wrong);
  ASSERT_EQ(wrong.rewards.size(), 4U);
  EXPECT_EQ(wrong.rewards[0], 1.5);
  EXPECT_EQ(wrong.rewards[2], 0.25);
  EXPECT_TRUE(std::isnan(wrong.rewards[1]) && std::isnan(wrong.rewards[3]))
      << "what they are paid follows from the whole step";
  EXPECT_EQ(wrong.correct, (std::vector<std::uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(drawn(wrong), 4);
}

TEST(ScoringStage, ReportsWhatAGroupWasMadeOf) {
  Judged train(Purpose::train);
  const Derivation from{.kind = DerivedKind::hint, .parent = {3, {7}, 1}};
  train.shard.groups[0].from = from;
  EXPECT_EQ(train.report(Undecided::drop).from, from);
}

/// Answers are compared where a policy asks, and only those of training that have a verdict.
TEST(ScoringStage, ComparesTheAnswersOfAGroupWhereAskedTo) {
  Judged train(Purpose::train);
  auto& rollouts = train.shard.groups[0].rollouts;
  for (std::size_t i = 0; i < rollouts.size(); ++i) {
    Turn question{.role = Role::prompt, .tokens = {1, 1, 1}};
    Turn answer{.role = Role::policy, .tokens = {7, 8, 9, i == 2 ? 10 : 11}};
    rollouts[i].turns = {question, answer};
  }
  EXPECT_TRUE(std::isnan(train.report(Undecided::wrong).diversity));
  const auto measured = [&](Undecided undecided) {
    return report(train.shard, train.scores, undecided, "distinct_3").groups.at(0).diversity;
  };
  // 789 of all, 8911 of three, 8910 of one
  EXPECT_DOUBLE_EQ(measured(Undecided::wrong), 3.0 / 8.0);
  EXPECT_DOUBLE_EQ(measured(Undecided::drop), 3.0 / 4.0);  // of the first and the third
  Judged evaluation(Purpose::eval);
  EXPECT_TRUE(std::isnan(report(evaluation.shard, evaluation.scores, Undecided::wrong, "distinct_3")
                             .groups.at(0)
                             .diversity));
}

/// The last answer ran out of time: it stays, and what it is paid follows from the whole step.
TEST(ScoringStage, WhatAnAnswerCanBringAboutIsNotDropped) {
  Judged train(Purpose::train);
  train.scores.scores[0][3].clock_ended = true;
  const GroupReport report = train.report(Undecided::drop);
  ASSERT_EQ(report.rewards.size(), 3U);
  EXPECT_TRUE(std::isnan(report.rewards[2]));
  EXPECT_EQ(report.correct, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(report.dropped, 1U);
}

/// pass@k needs all of an evaluation's samples.
TEST(ScoringStage, EvaluationsKeepAllTheirSamples) {
  for (const Purpose purpose : {Purpose::eval, Purpose::validation}) {
    const GroupReport report = Judged(purpose).report(Undecided::drop);
    EXPECT_EQ(report.correct, (std::vector<std::uint8_t>{1, 0, 0, 0}));
    EXPECT_EQ(report.answers, (std::vector<std::string>{"a", "", "b", ""}));
    EXPECT_EQ(report.dropped, 0U);
  }
}

TEST(ScoringStage, FactsOfShardsAddUp) {
  VerdictFacts all, first, second;
  const auto named = [](const char* sample) { return [sample] { return std::string(sample); }; };
  note(first, 0.5, named("train/1/0/0/0")), note(second, 2.0, named("train/1/4/0/1")),
      note(second, 1.0, named("train/1/5/0/0"));
  second.undecided = 1, second.ended = 1, second.reason = "no verdict after 2 s";
  add(all, first), add(all, second);
  EXPECT_EQ(all.seconds, (std::vector<float>{0.5F, 2.0F, 1.0F}));
  ASSERT_EQ(all.slowest.size(), 3U);
  EXPECT_EQ(all.slowest[0].sample + " " + all.slowest[1].sample + " " + all.slowest[2].sample,
            "train/1/4/0/1 train/1/5/0/0 train/1/0/0/0");
  EXPECT_EQ(all.slowest[0].seconds, 2.0);
  EXPECT_EQ(all.undecided, 1U);
  EXPECT_EQ(all.reason, "no verdict after 2 s");
}

TEST(ScoringStage, TheSlowestVerdictsAreNamedInWhateverOrderTheyCome) {
  std::vector<SlowVerdict> up, down;
  for (int i = 0; i < 9; ++i) add(up, {{std::to_string(i), double(i / 2)}});
  for (int i = 8; i >= 0; --i) add(down, {{std::to_string(i), double(i / 2)}});
  std::string names;
  for (const SlowVerdict& verdict : up) names += verdict.sample;
  EXPECT_EQ(names, "86745");
  for (std::size_t i = 0; i < up.size(); ++i) EXPECT_EQ(up[i].sample, down.at(i).sample);
}

}  // namespace
}  // namespace rollcall::run
