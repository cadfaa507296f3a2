// What the leader notes of a step: every rollout that was sampled, by the keys that its shards
// have, whatever left the step or was added to it.
#include "run/step/step_record.hpp"

#include "run/step/group_training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rollcall::run {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Rollout answer(std::uint32_t sample, std::size_t tokens) {
  const std::vector<float> values(tokens, -1.0F);
  return {.sample = sample,
          .turns = {{Role::prompt, {1}},
                    {Role::policy,
                     std::vector<std::int32_t>(tokens, 7),
                     {values, values},
                     std::vector<std::uint64_t>(tokens, 1)}},
          .text = {}};
}

/// Two groups of three rollouts.
StepBatch step() {
  StepBatch batch;
  for (const std::uint64_t p : {4, 6}) {
    batch.groups.push_back(
        {.id = {2, {p}, 0}, .rollouts = {answer(0, 2), answer(1, 1), answer(3, 2)}});
    batch.scores.emplace_back(3);
  }
  return batch;
}

TEST(StepRecord, HoldsAllThatWasSampledAndNothingElse) {
  StepBatch batch = step();
  const StepRecord record(2, batch);
  batch.scores[0][1].undecided = true;
  for (auto& score : batch.scores[1]) score.undecided = true;
  settle_undecided(batch, true);  // leaves group 4 with samples 0 and 3
  decide(batch, {{.id = {2, {4}, 0}, .weight = 0.25, .keep = {1, 0}}});
  batch.groups[0].rollouts.push_back(answer(kExpertSample, 1)), batch.scores[0].emplace_back();
  // replayed
  batch.groups.push_back({.id = {1, {6}, 0}, .rollouts = {answer(0, 1)}}),
      batch.scores.emplace_back(1);
  batch.training.push_back({.id = {1, {6}, 0}});
  batch.replayed = 1;
  const auto told = record.of(batch, {1.5, -0.5, 9.0, 9.0});
  EXPECT_EQ(told.keys.prompt_id, (std::vector<std::uint64_t>{4, 6}));
  EXPECT_EQ(told.keys.sample, (std::vector<std::uint32_t>{0, 1, 3, 0, 1, 3}));
  EXPECT_EQ(told.columns.trained, (std::vector<std::uint8_t>{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(told.columns.weight, (std::vector<double>{0.25, 0.25, 0.25, 1, 1, 1}));
  EXPECT_EQ(told.columns.advantage[0], 1.5);
  EXPECT_TRUE(std::isnan(told.columns.advantage[1])) << "it came to no verdict";
  EXPECT_EQ(told.columns.advantage[2], -0.5) << "left out, but part of its group";
  EXPECT_TRUE(std::isnan(told.columns.advantage[4]));
}

TEST(StepRecord, AnAdvantageIsARolloutsOnlyIfItsTokensAgree) {
  StepBatch batch = step();
  batch.groups[1].rollouts[1] = answer(1, 0);
  const auto shared = shared_advantages(batch, {0, 1}, {1, 1, 2, 3, 3, 4, 4, 5, 5});
  ASSERT_EQ(shared.size(), 6U);
  EXPECT_EQ(shared[2], 3.0);
  EXPECT_TRUE(std::isnan(shared[4])) << "it has no token";
  EXPECT_EQ(shared[5], 5.0);
  for (const double value : shared_advantages(batch, {0, 1}, {1, 1, 2, 3, 3, 4, 4, 5, 6}))
    EXPECT_TRUE(std::isnan(value)) << "one a token: no rollout has one";
  EXPECT_EQ(shared_advantages(batch, {0, 1}, {kNone, kNone, 2, 3, 3, 4, 4, 5, 5})[1], 2.0)
      << "a row may have none for what does not train";
  std::vector<double> all(6, kNone);
  put_advantages(batch, {1}, {7, 8, 9}, all);
  EXPECT_TRUE(std::isnan(all[2]));
  EXPECT_EQ(all[3], 7.0);
  EXPECT_EQ(all[5], 9.0);
}

}  // namespace
}  // namespace rollcall::run
