// Figures of conversations, counted by hand.
#include "run/step/turn_figures.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

Turn turn_of(Role role, std::size_t tokens) {
  return {.role = role, .tokens = std::vector<std::int32_t>(tokens, 1)};
}

/// A beginning that was given, two actions with answers of 3 and 0 tokens.
Rollout played() {
  Rollout rollout{.sample = 0, .finish = FinishReason::turns, .turns = {}, .text = {}};
  for (const auto& [role, tokens] : {std::pair{Role::prompt, 4},
                                     {Role::environment, 2},
                                     {Role::policy, 1},
                                     {Role::environment, 3},
                                     {Role::policy, 2},
                                     {Role::environment, 0}})
    rollout.turns.push_back(turn_of(role, std::size_t(tokens)));
  rollout.facts.resize(rollout.turns.size());
  rollout.facts[2] = {.reward = 0.25, .flags = turn_flag::invalid};
  rollout.facts[4] = {.reward = 0.5, .flags = turn_flag::error | turn_flag::void_turn};
  return rollout;
}

TEST(TurnFigures, CountActionsAndWhatWasToldAfterThem) {
  TurnFigures figures;
  figures.add(played());
  // One action in two turns of the policy, the first of which was given.
  Rollout cut{.sample = 1, .finish = FinishReason::length, .turns = {}, .text = {}};
  cut.turns = {turn_of(Role::prompt, 4), turn_of(Role::policy, 2), turn_of(Role::policy, 5)};
  cut.facts.resize(3);
  cut.facts[2].state = 7;
  figures.add(cut);
  figures.add({.sample = 2, .finish = FinishReason::stop, .turns = {}, .text = "no talk"});
  std::map<std::string, double> metrics;
  figures.write(metrics);
  const std::map<std::string, double> expected{{"turns/mean", 1.5},
                                               {"turns/max", 2.0},
                                               {"turns/limit_ratio", 0.5},
                                               {"turns/no_room_ratio", 0.0},
                                               {"turns/told_tokens_mean", 1.5},
                                               {"turns/invalid_share", 1.0 / 3.0},
                                               {"turns/error_share", 1.0 / 3.0},
                                               {"turns/void_share", 1.0 / 3.0},
                                               {"turns/reward_mean", 0.25},
                                               {"environment/reward_mean", 0.375}};
  EXPECT_EQ(metrics, expected);
}

TEST(TurnFigures, CountTextsThatLeaveNoRoom) {
  TurnFigures figures;
  Rollout full = played();
  full.finish = FinishReason::length;
  figures.add(full);
  full.turns.pop_back(), full.facts.pop_back();
  figures.add(full);  // a turn of the policy that a limit cut
  std::map<std::string, double> metrics;
  figures.write(metrics);
  EXPECT_EQ(metrics.at("turns/no_room_ratio"), 0.5);
}

TEST(TurnFigures, SayNothingOfSingleAnswers) {
  TurnFigures figures;
  figures.add({.sample = 0, .finish = FinishReason::stop, .turns = {}, .text = "7"});
  std::map<std::string, double> metrics;
  figures.write(metrics);
  EXPECT_TRUE(metrics.empty());
}

}  // namespace
}  // namespace rollcall::run
