// Between scheduler and update: entries find their groups and rollouts, signals find their reports,
// and nothing asked means nothing set.
#include "run/step/group_training.hpp"
#include "base/errors/error.hpp"
#include "run/random_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rollcall::run {
namespace {

/// Groups of 2, 1 and 3 rollouts of prompts 0, 1, 2.
StepBatch small_batch() {
  StepBatch batch;
  for (const auto& [prompt, rollouts] :
       std::vector<std::pair<std::uint64_t, std::size_t>>{{0, 2}, {1, 1}, {2, 3}}) {
    batch.groups.push_back(
        {.id = {5, {prompt}, 0}, .level = 0, .rollouts = std::vector<Rollout>(rollouts)});
  }
  return batch;
}

method::StepColumns columns_with(const std::vector<scheduling::GroupTraining>& training,
                                 const std::vector<std::size_t>& groups) {
  method::StepColumns columns;
  StepBatch batch = small_batch();
  decide(batch, training);
  add_training(columns, batch, groups);
  return columns;
}

TEST(GroupTraining, NothingAskedLeavesTheColumnsEmpty) {
  EXPECT_TRUE(columns_with({}, {0, 1, 2}).group_weight.empty());
  const auto ones = columns_with({{.id = {5, {0}, 0}, .weight = 1.0, .keep = {1, 1}}}, {0, 1, 2});
  EXPECT_TRUE(ones.group_weight.empty());
  EXPECT_TRUE(ones.trains.empty());
}

TEST(GroupTraining, EntriesReachTheirGroupInAnyMiniBatch) {
  const std::vector<scheduling::GroupTraining> training = {
      {.id = {5, {0}, 0}, .weight = 2.0}, {.id = {5, {2}, 0}, .weight = 0.5, .keep = {0, 1}}};
  const auto all = columns_with(training, {0, 1, 2});
  EXPECT_EQ(all.group_weight, (std::vector<double>{2, 1, 0.5}));
  EXPECT_EQ(all.trains, (std::vector<double>{1, 1, 1, 0, 1, 1}));  // a rollout beyond keep trains
  const auto part = columns_with(training, {1, 2});
  EXPECT_EQ(part.group_weight, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(part.trains, (std::vector<double>{1, 0, 1, 1}));
  EXPECT_TRUE(columns_with(training, {1}).group_weight.empty());
}

TEST(GroupTraining, AKeepForMoreRolloutsThanThereAreIsRefused) {
  EXPECT_THROW(columns_with({{.id = {5, {1}, 0}, .keep = {1, 1}}}, {1}), ProtocolError);
}

TEST(GroupTraining, WhatWasStoredIsWhatWasDecided) {
  EXPECT_EQ(recorded({5, {2}, 0}, {}).weight, 1.0) << "nothing was stored: all train";
  const auto stored =
      recorded({5, {2}, 0}, {{.trained = true, .weight = 2.5}, {.trained = false, .weight = 2.5}});
  EXPECT_EQ(stored.weight, 2.5);
  EXPECT_EQ(stored.keep, (std::vector<std::uint8_t>{1, 0}));
}

TEST(GroupSignals, OfGroupsThatNoUpdateSeesAreThoseOfTheWholeStep) {
  StepBatch batch = small_batch();
  decide(batch, {{.id = {5, {1}, 0}, .keep = {0}}, {.id = {5, {2}, 0}, .keep = {0, 0, 1}}});
  method::MicroBatchLoss whole;
  whole.rollout_loss = {7.0, 7.0, 0.5, 7.0, 7.0, 7.0};
  for (const bool known : {true, false}) {
    GroupSignals signals;
    signals.add_left_out(batch, {9.0, 9.0, 0.25, 9.0, 9.0, 9.0},
                         known ? std::vector{whole} : std::vector<method::MicroBatchLoss>());
    const auto all = signals.take();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].id, batch.groups[1].id);
    EXPECT_EQ(all[0].mean_abs_advantage, 0.25);
    EXPECT_TRUE(known ? all[0].loss == 0.5 : std::isnan(all[0].loss));
  }
}

TEST(GroupSignals, AreMeansOverRolloutsWithTokensInTheFirstUpdate) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  method::MicroBatchLoss first, second;
  first.rollout_loss = {0.5, none};        // group 0
  second.rollout_loss = {1.0, -2.0, 4.0};  // group 2
  GroupSignals signals;
  signals.add(small_batch(), {0, 2}, {0.25, none, 3.0, 1.0, 2.0}, {first, second});
  second.rollout_loss = {9.0, 9.0, 9.0};
  signals.add(small_batch(), {2}, {9.0, 9.0, 9.0}, {second});  // another epoch
  first.rollout_loss = {none};
  signals.add(small_batch(), {1}, {none}, {first});
  std::vector<GroupReport> reports(4);
  for (std::uint64_t p = 0; p < 4; ++p) reports[p].id = {5, {p}, 0};
  fill_reports(reports, signals.take());
  EXPECT_EQ(reports[0].loss, 0.5);
  EXPECT_EQ(reports[0].mean_abs_advantage, 0.25);
  EXPECT_TRUE(std::isnan(reports[1].loss));
  EXPECT_EQ(reports[2].loss, 1.0);
  EXPECT_EQ(reports[2].mean_abs_advantage, 2.0);
  // no update saw it
  EXPECT_TRUE(std::isnan(reports[3].loss) && std::isnan(reports[3].mean_abs_advantage));
  EXPECT_TRUE(signals.take().empty());
}

}  // namespace
}  // namespace rollcall::run
