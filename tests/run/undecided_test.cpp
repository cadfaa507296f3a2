// Answers without a verdict: what they are paid is never better than what a wrong answer is, and
// only what no answer can bring about is dropped.
#include "run/step/undecided.hpp"
#include "run/update/replay_buffer.hpp"

#include "run/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rollcall::run {
namespace {

const Score kRight{.components = {1.0, 1.0}, .reward = 1.0, .correct = true};
const Score kWrong{.components = {-1.0, 0.5}, .reward = -1.0};
// the verifier says so itself
const Score kUnclear{.components = {0.0, 0.0}, .undecided = true};
// it ran out of time, or its process failed twice
const Score kHung{.components = {0.0, 0.0}, .undecided = true, .clock_ended = true};

StepBatch batch_of(const std::vector<std::vector<Score>>& scores) {
  StepBatch batch = random_batch(1, scores.size());
  for (std::size_t g = 0; g < scores.size(); ++g) {
    batch.groups[g].rollouts.resize(scores[g].size(), batch.groups[g].rollouts.front());
    for (std::size_t i = 0; i < scores[g].size(); ++i)
      batch.groups[g].rollouts[i].sample = std::uint32_t(i);
  }
  batch.scores = scores;
  return batch;
}

std::vector<double> rewards(const StepBatch& batch, std::size_t group) {
  std::vector<double> all;
  for (const auto& score : batch.scores.at(group)) all.push_back(score.reward);
  return all;
}

// The lowest of the step, not of the group, and of each component by itself.
TEST(Undecided, CountedAsWrongItGetsTheLowestOfTheStep) {
  StepBatch batch = batch_of({{kRight, kHung, kUnclear}, {kWrong, kRight}});
  EXPECT_EQ(settle_undecided(batch, false), 3U);
  EXPECT_EQ(rewards(batch, 0), (std::vector<double>{1.0, -1.0, -1.0}));
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_EQ(batch.scores[0][i].components, (std::vector<double>{-1.0, 0.5}));
    EXPECT_FALSE(batch.scores[0][i].correct);
  }
}

TEST(Undecided, WhatAnAnswerCanBringAboutIsNeverDropped) {
  StepBatch batch = batch_of({{kRight, kHung, kUnclear}, {kUnclear, kUnclear}, {kWrong, kHung}});
  const auto stays = batch.groups[2].id;
  EXPECT_EQ(settle_undecided(batch, true), 2U);
  EXPECT_EQ(batch.undecided, 3U);
  EXPECT_EQ(composition(batch), (std::map<std::string, double>{{"train/rollouts_generated", 7},
                                                               {"train/rollouts_trained", 4}}));
  ASSERT_EQ(batch.groups.size(), 2U);
  EXPECT_EQ(rewards(batch, 0), (std::vector<double>{1.0, -1.0}));
  EXPECT_EQ(batch.groups[0].rollouts.back().sample, 1U);
  EXPECT_EQ(rewards(batch, 1), (std::vector<double>{-1.0, -1.0}));
  EXPECT_TRUE(batch.groups[1].id == stays);
}

TEST(Undecided, WhereTheVerifierGaveNoneItIsNothing) {
  StepBatch batch = batch_of({{kHung, kUnclear}});
  EXPECT_EQ(settle_undecided(batch, false), 0U);
  EXPECT_EQ(rewards(batch, 0), (std::vector<double>{0.0, 0.0}));
}

TEST(Undecided, AGreedyAnswerIsNoLowerBarForHangingEither) {
  StepBatch batch = batch_of({{kRight}, {kWrong}});
  batch.greedy = {{batch.groups[0].id.prompt, greedy_reward(kHung)}};
  settle_undecided(batch, true);
  EXPECT_EQ(batch.greedy.begin()->second, -1.0);
  EXPECT_EQ(batch.groups.size(), 2U);
}

TEST(Undecided, IsNeverBetterThanWrong) {
  EXPECT_TRUE(rc::check("no answer without a verdict is paid more than any that has one", [] {
    StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                   *rc::gen::inRange<std::size_t>(1, 7));
    io::test::Dice dice(*rc::gen::inRange<std::uint64_t>(0, 1U << 30));
    for (auto& scores : batch.scores)
      for (auto& score : scores) score.clock_ended = dice.below(3) == 0;
    const bool drop = *rc::gen::arbitrary<bool>();
    std::size_t staying = 0;
    for (const auto& scores : batch.scores)
      staying += std::size_t(std::count_if(
          scores.begin(), scores.end(), [&](const Score& s) { return !leaves_the_step(s, drop); }));
    settle_undecided(batch, drop);
    std::size_t left = 0;
    for (const auto& of_undecided : batch.scores)
      for (const Score& paid : of_undecided) {
        ++left;
        if (!paid.undecided) continue;
        RC_ASSERT(!paid.correct && (!drop || paid.clock_ended));
        for (const auto& scores : batch.scores)
          for (const Score& other : scores) {
            RC_ASSERT(other.undecided || paid.reward <= other.reward);
            for (std::size_t k = 0; k < other.components.size(); ++k)
              RC_ASSERT(other.undecided || paid.components[k] <= other.components[k]);
          }
      }
    RC_ASSERT(left == staying);
  }));
}

/// The scheduler hears the same rewards as the objective sees: 1, the lowest of the step, 0.25.
TEST(Undecided, TheSchedulerHearsOfTheSameRewards) {
  std::vector<GroupReport> first(1), second(1);
  first[0].rewards = {1.0, kUnsettled}, second[0].rewards = {0.25, kUnsettled};
  const std::array<const std::vector<GroupReport>*, 2> step{&first, &second};
  EXPECT_EQ(lowest_reward(step), 0.25);
  settle_rewards(first, lowest_reward(step));
  EXPECT_EQ(first[0].rewards, (std::vector<double>{1.0, 0.25}));
  first[0].rewards = {kUnsettled};
  EXPECT_EQ(lowest_reward(std::array<const std::vector<GroupReport>*, 1>{&first}), 0.0);
}

}  // namespace
}  // namespace rollcall::run
