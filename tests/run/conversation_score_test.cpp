// Verdicts on conversations that the environment decided, paid, lost or left to the verifier.
#include "run/scoring/conversation_score.hpp"

#include "run/messages/actions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

using testing::ElementsAre;

const reward::Grader& grader() {
  static const reward::Grader made(reward::find_verifier("exact_match"), {});
  return made;
}

/// Two actions, of which the environment answered both.
Rollout talked(std::int64_t last_flags) {
  Rollout rollout;
  rollout.turns = {{Role::prompt, {1}},
                   {Role::policy, {2}},
                   {Role::environment, {3}},
                   {Role::policy, {4}},
                   {Role::environment, {}}};
  rollout.facts.resize(5);
  rollout.facts[1] = {.reward = 0.25, .components = {1.0, 2.0}};
  rollout.facts[3] = {.reward = 0.5, .components = {3.0, 4.0}, .flags = last_flags};
  rollout.facts[3].reason = "why";
  rollout.text = std::string("7") + kNextAction + "8";
  return rollout;
}

Score graded() {
  Score score = grader().score(reward::Reply{.score = 1.0, .correct = true}, "8", true);
  score.components.resize(grader().components().size(), 0.0);
  return score;
}

TEST(ConversationScore, WithoutFactsTheGradersCounts) {
  Rollout rollout;
  rollout.turns = {{Role::prompt, {1}}, {Role::policy, {2}}};
  EXPECT_FALSE(is_settled(rollout));
  const Score score = conversation_score(grader(), rollout, 0, graded());
  EXPECT_EQ(score.reward, graded().reward);
  EXPECT_EQ(score.components, graded().components);
}

TEST(ConversationScore, WhatWasPaidIsAddedToTheGradersReward) {
  EXPECT_FALSE(is_settled(talked(0)));
  const Score score = conversation_score(grader(), talked(0), 2, graded());
  EXPECT_EQ(score.reward, 1.0 + 0.75);
  EXPECT_TRUE(score.correct);
  ASSERT_EQ(score.components.size(), grader().components().size() + 2);
  EXPECT_EQ(score.components[score.components.size() - 2], 4.0);
  EXPECT_EQ(score.components.back(), 6.0);
}

TEST(ConversationScore, TheEnvironmentDecides) {
  for (const bool correct : {true, false}) {
    const Rollout rollout = talked(turn_flag::decided | (correct ? turn_flag::correct : 0));
    EXPECT_TRUE(is_settled(rollout));
    const Score score = conversation_score(grader(), rollout, 2, {});
    EXPECT_EQ(score.correct, correct);
    EXPECT_EQ(score.reward, 0.75);
    EXPECT_EQ(score.components.front(), correct ? 1.0 : 0.0);
    EXPECT_EQ(score.components.size(), grader().components().size() + 2);
    EXPECT_EQ(score.reason, "why");
    EXPECT_FALSE(score.undecided);
  }
}

TEST(ConversationScore, LostOnesAreUndecidedAndPayNothing) {
  Rollout rollout = talked(turn_flag::error);
  rollout.finish = FinishReason::lost;
  EXPECT_TRUE(is_settled(rollout));
  Score score = conversation_score(grader(), rollout, 2, graded());
  EXPECT_TRUE(score.undecided);
  EXPECT_FALSE(score.clock_ended);
  EXPECT_EQ(score.reward, 0.0);
  EXPECT_EQ(score.reason, "why");
  rollout.facts[3].flags = turn_flag::ended;
  score = conversation_score(grader(), rollout, 2, graded());
  EXPECT_TRUE(score.clock_ended) << "so that it counts as wrong and stays";
}

TEST(ConversationScore, AConversationLostBeforeItBeganSaysWhy) {
  Rollout rollout;
  rollout.turns = {{Role::prompt, {1}}};
  rollout.facts = {{.flags = turn_flag::ended, .reason = "no start"}};
  rollout.finish = FinishReason::lost;
  const Score score = conversation_score(grader(), rollout, 1, {});
  EXPECT_TRUE(score.undecided);
  EXPECT_TRUE(score.clock_ended);
  EXPECT_EQ(score.reason, "no start");
}

}  // namespace
}  // namespace rollcall::run
