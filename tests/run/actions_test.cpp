// Which turns of a rollout are one action, and the text that verifiers judge.
#include "run/messages/actions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace rollcall::run {

bool operator==(const ActionTurns& a, const ActionTurns& b) {
  return a.first == b.first && a.last == b.last;
}

namespace {

using testing::ElementsAre;

constexpr Role kPrompt = Role::prompt, kPolicy = Role::policy, kTold = Role::environment;

Rollout of_roles(const std::vector<Role>& roles) {
  Rollout rollout;
  for (const Role role : roles) rollout.turns.push_back({role, {}});
  return rollout;
}

TEST(Actions, ARolloutWithoutAnEnvironmentIsOne) {
  EXPECT_THAT(actions_of(of_roles({kPrompt, kPolicy})), ElementsAre(ActionTurns{1, 2}));
  EXPECT_THAT(actions_of(of_roles({kPrompt, kTold, kPolicy})), ElementsAre(ActionTurns{1, 3}));
  EXPECT_THAT(actions_of(of_roles({kPrompt, kPolicy, kPolicy})), ElementsAre(ActionTurns{1, 3}));
}

TEST(Actions, WhatTheEnvironmentSaysEndsOneAndBelongsToNone) {
  EXPECT_THAT(actions_of(of_roles({kPrompt, kPolicy, kTold})), ElementsAre(ActionTurns{1, 2}));
  EXPECT_THAT(actions_of(of_roles({kPrompt, kPolicy, kTold, kPolicy, kTold, kPolicy})),
              ElementsAre(ActionTurns{1, 2}, ActionTurns{3, 4}, ActionTurns{5, 6}));
  EXPECT_THAT(actions_of(of_roles({kPrompt, kTold, kPolicy, kTold, kTold, kPolicy, kPolicy})),
              ElementsAre(ActionTurns{1, 3}, ActionTurns{5, 7}));
}

TEST(Actions, ARolloutInWhichNobodySpokeHasAnEmptyOne) {
  EXPECT_THAT(actions_of(of_roles({kPrompt})), ElementsAre(ActionTurns{1, 1}));
  EXPECT_THAT(actions_of(of_roles({kPrompt, kTold})), ElementsAre(ActionTurns{1, 2}));
}

TEST(Actions, TheWordsOfAnExitBelongToTheAnswer) {
  Rollout rollout = of_roles({kPrompt, kPolicy, kTold, kPolicy});
  rollout.parent = 0, rollout.fork_token = 3;
  EXPECT_THAT(actions_of(rollout), ElementsAre(ActionTurns{1, 4}));
  rollout.facts.resize(4);
  EXPECT_THAT(actions_of(rollout), ElementsAre(ActionTurns{1, 2}, ActionTurns{3, 4}))
      << "a fork of a conversation";
}

TEST(Actions, VerifiersReadTheLastOne) {
  Rollout rollout = of_roles({kPrompt, kPolicy, kTold, kPolicy});
  rollout.text = std::string("one") + kNextAction + "two";
  EXPECT_EQ(last_action(rollout), "two");
  rollout.turns.resize(3);  // what looks like a mark was said by the policy
  EXPECT_EQ(last_action(rollout), rollout.text);
}

TEST(Actions, TheTextHasAMarkBetweenTwo) {
  const text::PromptFormat format({}, "");
  const auto tokens = [&](const char* said) { return format.tokenizer()->encode(said); };
  Rollout rollout;
  rollout.turns = {{kPrompt, tokens("1+1=")}, {kTold, tokens("2")}, {kPolicy, tokens("3")}};
  EXPECT_EQ(rollout_text(format, rollout), "23");
  rollout.turns.push_back({kTold, tokens("9")});
  EXPECT_EQ(rollout_text(format, rollout), "23");
  rollout.turns.push_back({kPolicy, tokens("4")});
  rollout.turns.push_back({kPolicy, tokens("5")});
  EXPECT_EQ(rollout_text(format, rollout), std::string("23") + kNextAction + "45");
}

}  // namespace
}  // namespace rollcall::run
