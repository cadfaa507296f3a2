// Columns of turns, worked out by hand for two conversations of two and three turns, and what keeps
// them whole: mini-batches, verdicts that are missing, rewards that are permuted.
#include "run/step/columns/turn_columns.hpp"
#include "run/context/column_sources.hpp"
#include "run/random_batch.hpp"
#include "run/step/undecided.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {
namespace {

namespace column = method::column;
using Column = std::vector<double>;

Turn said(Role role, std::vector<std::int32_t> tokens) {
  const std::size_t n = role == Role::policy ? tokens.size() : 0;
  return {.role = role,
          .tokens = std::move(tokens),
          .columns = {.logprob = std::vector<float>(n, -1.0F), .entropy = std::vector<float>(n)},
          .policy_version = std::vector<std::uint64_t>(n)};
}

/// A conversation of turns that follow a prompt.
Rollout conversation(std::uint32_t sample, std::vector<Turn> turns, std::vector<TurnFacts> facts) {
  turns.insert(turns.begin(), said(Role::prompt, {1, 2}));
  facts.insert(facts.begin(), TurnFacts{});
  return {.sample = sample, .turns = std::move(turns), .text = {}, .facts = std::move(facts)};
}

Score verdict(double reward) { return {.components = {}, .reward = reward}; }

/// Two turns that are paid 1/4 and 1/2 by the environment. The answer to the second has no tokens.
Rollout of_two_turns() {
  constexpr auto policy = Role::policy, environment = Role::environment;
  return conversation(
      0, {said(policy, {3, 4}), said(environment, {5}), said(policy, {6}), said(environment, {})},
      {{.reward = 0.25, .state = 71, .action = 81, .flags = turn_flag::invalid, .kind = 1},
       {.state = 72},
       {.reward = 0.5,
        .state = 72,
        .action = 82,
        .flags = turn_flag::decided | turn_flag::correct,
        .kind = 2},
       {.state = 73}});
}

/// Three turns that are paid 0, -1/2 and 1. The first begins with a token that was given, and the
/// environment was not asked about the last.
Rollout of_three_turns() {
  constexpr auto policy = Role::policy, environment = Role::environment;
  return conversation(1,
                      {said(environment, {9}), said(policy, {3}), said(environment, {5, 5}),
                       said(policy, {4, 4, 4}), said(environment, {7}), said(policy, {8, 8})},
                      {{},
                       {.state = 71, .action = 82, .seat = 1},
                       {.state = 73},
                       {.reward = -0.5, .state = 73, .action = 81},
                       {.state = 71},
                       {.reward = 1.0, .state = 71, .action = 81, .flags = turn_flag::patched}});
}

/// A group of both, whose verifier pays a quarter beside the environment for the first.
StepBatch two_conversations() {
  StepBatch batch;
  batch.groups.push_back({.id = {3, {7}, 0}, .rollouts = {of_two_turns(), of_three_turns()}});
  batch.scores = {{verdict(1.0), verdict(0.5)}};
  return batch;
}

/// A group of single answers.
void add_answers(StepBatch& batch) {
  Group group{.id = {3, {8}, 0}, .rollouts = {}};
  for (std::uint32_t i = 0; i < 2; ++i)
    group.rollouts.push_back(
        {.sample = i, .turns = {said(Role::prompt, {1}), said(Role::policy, {2, 3})}, .text = {}});
  batch.groups.push_back(std::move(group));
  batch.scores.push_back({verdict(0.75), verdict(-0.25)});
}

method::StepColumns columns_of(const StepBatch& batch, std::vector<std::size_t> groups = {}) {
  if (groups.empty()) {
    groups.resize(batch.groups.size());
    std::iota(groups.begin(), groups.end(), std::size_t{0});
  }
  return make_train_batch(batch, groups, 1000, 8).columns;
}

TEST(TurnColumns, AreTheFactsOfEachTurn) {
  const method::StepColumns c = columns_of(two_conversations());
  EXPECT_EQ(c.turn_offsets, (std::vector<std::int64_t>{0, 2, 5}));
  EXPECT_EQ(c.turn_begin, (std::vector<std::int64_t>{0, 2, 3, 4, 7, 9}));
  EXPECT_EQ(c.offsets, (std::vector<std::int64_t>{0, 3, 9}));
  EXPECT_EQ(c.named.at(column::turn_reward), (Column{0.25, 0.75, 0.0, -0.5, 1.0}))
      << "what the verifier pays counts at the last turn";
  EXPECT_EQ(c.named.at(column::turn_state), (Column{1, 2, 1, 3, 1}));
  EXPECT_EQ(c.named.at(column::turn_next_state), (Column{2, 3, 3, 1, 0}));
  EXPECT_EQ(c.named.at(column::turn_action), (Column{1, 2, 2, 1, 1}));
  EXPECT_EQ(c.named.at(column::turn_flags),
            (Column{double(turn_flag::invalid), 0, 0, 0, double(turn_flag::patched)}));
  EXPECT_EQ(c.named.at(column::turn_kind), (Column{1, 2, 0, 0, 0}));
  EXPECT_EQ(c.named.at(column::turn_seat), (Column{0, 0, 1, 0, 0}));
}

TEST(TurnColumns, ArriveInEveryRun) {
  for (const char* name :
       {column::turn_reward, column::turn_state, column::turn_next_state, column::turn_action,
        column::turn_flags, column::turn_kind, column::turn_seat})
    EXPECT_TRUE(is_provided(name)) << name;
  EXPECT_FALSE(is_provided("turn/component/speed"));
}

TEST(TurnColumns, OfSingleAnswersAreTheirRewards) {
  StepBatch batch;
  add_answers(batch);
  const method::StepColumns c = columns_of(batch);
  EXPECT_TRUE(c.turn_offsets.empty() && c.turn_begin.empty());
  EXPECT_EQ(c.named.at(column::turn_reward), (Column{0.75, -0.25}));
  for (const char* name : {column::turn_state, column::turn_next_state, column::turn_action,
                           column::turn_flags, column::turn_kind, column::turn_seat})
    EXPECT_EQ(c.named.at(name), (Column{0, 0})) << name;
}

TEST(TurnColumns, AConversationWithoutAStartHasOneEmptyTurn) {
  StepBatch batch = two_conversations();
  batch.groups[0].rollouts[0] = conversation(0, {}, {});
  batch.groups[0].rollouts[0].facts[0].flags = turn_flag::ended;
  const method::StepColumns c = columns_of(batch);
  EXPECT_EQ(c.turn_offsets, (std::vector<std::int64_t>{0, 1, 4}));
  EXPECT_EQ(c.turn_begin, (std::vector<std::int64_t>{0, 0, 1, 4, 6}));
  EXPECT_EQ(c.named.at(column::turn_reward), (Column{1.0, 0.0, -0.5, 1.0}));
  EXPECT_EQ(c.named.at(column::turn_flags)[0], 0.0) << "the flags of a turn are the policy's";
}

TEST(TurnColumns, WithoutAVerdictTheLastTurnIsPaidAlone) {
  StepBatch batch = two_conversations();
  batch.scores[0][0].undecided = true;
  settle_undecided(batch, false);
  EXPECT_EQ(columns_of(batch).named.at(column::turn_reward), (Column{0.0, 0.5, 0.0, -0.5, 1.0}))
      << "it counts as wrong, which is 1/2 here";
}

TEST(TurnColumns, OfAMiniBatchHaveTheNumbersOfTheStep) {
  StepBatch batch = two_conversations();
  add_answers(batch);
  batch.groups.push_back({.id = {3, {9}, 0}, .rollouts = {of_three_turns()}});
  batch.scores.push_back({verdict(0.5)});
  EXPECT_EQ(columns_of(batch).turn_offsets, (std::vector<std::int64_t>{0, 2, 5, 6, 7, 10}));
  EXPECT_TRUE(columns_of(batch, {1}).turn_offsets.empty());
  const method::StepColumns last = columns_of(batch, {2});
  EXPECT_EQ(last.turn_begin, (std::vector<std::int64_t>{0, 1, 4, 6}));
  EXPECT_EQ(last.named.at(column::turn_state), (Column{1, 3, 1}));
  EXPECT_EQ(last.named.at(column::turn_action), (Column{2, 1, 1}));
}

TEST(TurnColumns, OfMiniBatchesAreThoseOfTheStep) {
  EXPECT_TRUE(rc::check("a mini-batch has a stretch of the step's columns", [] {
    const StepBatch batch = random_batch(*rc::gen::inRange<std::uint64_t>(0, 1U << 30),
                                         std::size_t(*rc::gen::inRange(1, 12)));
    const method::StepColumns whole = columns_of(batch);
    std::map<std::string, Column> joined;
    for (std::size_t g = 0; g < batch.groups.size(); ++g)
      for (const auto& [name, values] : columns_of(batch, {g}).named)
        if (name.starts_with("turn/"))
          joined[name].insert(joined[name].end(), values.begin(), values.end());
    RC_ASSERT(joined.size() == 7);
    for (const auto& [name, values] : joined) RC_ASSERT(values == whole.named.at(name));
    // The turns of a rollout sum to its reward, up to rounding.
    const auto& paid = joined.at(column::turn_reward);
    for (std::size_t i = 0; i < whole.reward.size(); ++i) {
      const bool several = !whole.turn_offsets.empty();
      const auto first = several ? whole.turn_offsets[i] : std::int64_t(i),
                 last = several ? whole.turn_offsets[i + 1] : first + 1;
      const double sum = std::accumulate(paid.begin() + first, paid.begin() + last, 0.0);
      RC_ASSERT(std::abs(sum - whole.reward[i]) < 1e-12);
    }
  }));
}

TEST(TurnRewards, MoveToTurnsOfTheSameIndex) {
  StepBatch batch = two_conversations();
  auto rewards = turn_rewards(batch.groups);
  EXPECT_EQ(rewards, (std::vector<Column>{{0.25, 0.5}, {0.0, -0.5, 1.0}}));
  std::swap(rewards[0], rewards[1]);
  put_turn_rewards(rewards, batch.groups);
  EXPECT_EQ(turn_rewards(batch.groups), (std::vector<Column>{{0.0, 0.5}, {0.25, 0.5, 0.0}}))
      << "a turn that the rollout does not have counts at its last one";
}

TEST(TurnRewards, TravelWithThePermutedVerdict) {
  int swapped = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    StepBatch batch = two_conversations();
    shuffle_rewards(batch, seed, 3);
    const Column paid = columns_of(batch).named.at(column::turn_reward);
    const bool moved = batch.scores[0][0].reward == 0.5;
    EXPECT_EQ(paid,
              moved ? (Column{0.0, 0.5, 0.25, 0.5, 0.25}) : (Column{0.25, 0.75, 0.0, -0.5, 1.0}));
    swapped += moved ? 1 : 0;
  }
  EXPECT_GT(swapped, 0);
  EXPECT_LT(swapped, 20);
}

}  // namespace
}  // namespace rollcall::run
