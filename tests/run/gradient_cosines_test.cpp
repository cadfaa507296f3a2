// Cosines by hand: groups apart, lengths that do not matter, rollouts without a gradient; and their
// way into the columns of a mini-batch.
#include "run/update/gradient_cosines.hpp"

#include "method/columns.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::run {
namespace {

TEST(GradientCosines, AreTakenWithinEachGroup) {
  // A prompt with two answers, and one with three of which the last has no policy tokens.
  TrainBatch::MicroBatchRange range{};
  range.micro_batch.parents = {-1, 0, 0, -1, 3, 3, 3};
  range.rollouts = {2, 3, 4, 5, 6};
  const std::vector<std::int64_t> group = {0, 0, 1, 1, 2, 2, 2};
  const std::vector<double> gradients = {0, 0, 2, 0, -3, 4, 0, 0, 0, 5, 0, 1, 0, 0};
  const std::vector<float> expected = {1, -0.6F, -0.6F, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0};
  EXPECT_EQ(gradient_cosines(range, gradients, group), expected);
  range.rollouts.pop_back();
  EXPECT_THROW(gradient_cosines(range, gradients, group), std::logic_error);
}

TEST(GradientCosines, TheirMeanSquareIsThatOfPairs) {
  EXPECT_EQ(mean_squared_cosine({{1, 0.5, 0.5, 1}, {1, 0, 1, 0, 1, 0, 1, 0, 1}, {1}, {}}),
            (0.25 + 2.0 / 6) / 2);
  EXPECT_TRUE(std::isnan(mean_squared_cosine({{1}, {}})));
}

TEST(GradientCosines, AMiniBatchHasThoseOfItsGroups) {
  StepBatch batch;
  for (const std::size_t rollouts : {2, 1, 3}) {
    batch.groups.emplace_back(), batch.scores.emplace_back(rollouts);
    for (std::size_t i = 0; i < rollouts; ++i)
      batch.groups.back().rollouts.emplace_back().turns = {{Role::prompt, {10}},
                                                           {Role::policy, {15}, {{-1}, {0}}, {1}}};
    batch.columns[method::column::gradient_cosine].emplace_back(rollouts * rollouts,
                                                                float(rollouts));
  }
  const auto columns = make_train_batch(batch, {0, 2}, 100, 8).columns;
  std::vector<double> expected(4, 2.0);
  expected.insert(expected.end(), 9, 3.0);
  EXPECT_EQ(columns.named.at(method::column::gradient_cosine), expected);
  batch.columns.at(method::column::gradient_cosine)[2].clear();
  EXPECT_FALSE(make_train_batch(batch, {0, 2}, 100, 8)
                   .columns.named.contains(method::column::gradient_cosine))
      << "not of every group";
}

}  // namespace
}  // namespace rollcall::run
