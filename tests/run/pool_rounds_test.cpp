// Pools: their samples, and which of them are drawn again.
#include "run/coordinator/steps/pool_rounds.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rollcall::run {
namespace {

GroupPlan group_of(std::uint64_t prompt, std::uint32_t first, std::uint32_t count,
                   std::uint32_t draw = 0) {
  return {.id = {3, {prompt}, draw}, .level = 2, .first_sample = first, .count = count};
}

/// What scoring sends of a pool: the rewards by sample number.
Specimen scored(const GroupPlan& pool, const std::map<std::uint32_t, double>& rewards) {
  Specimen specimen{.id = pool.id, .level = pool.level};
  for (const auto& [sample, reward] : rewards)
    specimen.exhibits.push_back({.sample = sample, .correct = reward > 0.0, .reward = reward});
  return specimen;
}

TEST(PoolRounds, AskTheSamePromptsWithMoreSamples) {
  PoolRounds rounds(1.5);
  const auto pools = rounds.pools({group_of(5, 0, 4), group_of(6, 0, 3, 1)});
  ASSERT_EQ(pools.size(), 2U);
  EXPECT_EQ(pools[0].id, (GroupId{3, {5}, 2048}));
  EXPECT_EQ(pools[1].id, (GroupId{3, {6}, 2049}));
  EXPECT_EQ(pools[0].count, 6U);
  EXPECT_EQ(pools[1].count, 5U) << "4.5 rounded up";
  EXPECT_EQ(pools[1].stream_draw, 1) << "they repeat the random numbers of the group";
  EXPECT_EQ(pools[0].from.kind, DerivedKind::pool);
  EXPECT_EQ(pools[0].from.parent, (GroupId{3, {5}, 0}));
  EXPECT_EQ(pools[0].from.placement, Placement::trains_nowhere);
  EXPECT_EQ(pools[0].level, 2);
  const auto later = rounds.pools({group_of(5, 4, 2)});
  EXPECT_EQ(later[0].first_sample, 6U) << "a later round has further samples";
  EXPECT_EQ(later[0].count, 3U);
  EXPECT_THROW(rounds.pools({group_of(5, 0, 1, 2048)}), ConfigError);
}

TEST(PoolRounds, WholeNumbersAreNotRoundedUp) {
  EXPECT_EQ(PoolRounds(1.1).pools({group_of(5, 0, 50)})[0].count, 55U);
  EXPECT_EQ(PoolRounds(1.0).pools({group_of(5, 0, 7)})[0].count, 7U);
}

TEST(PoolRounds, DrawTheBestAndTheWorstAgain) {
  PoolRounds rounds(2.0);
  std::vector<GroupPlan> groups{group_of(5, 0, 3), group_of(6, 0, 2)};
  const auto pools = rounds.pools(groups);
  // Of six: the two best are 3 and, of two that are equal, 1; the worst is 0, of three with 0.
  rounds.choose(groups, pools,
                {scored(pools[0], {{0, 0}, {1, 1}, {2, 0}, {3, 2}, {4, 1}, {5, 0}}),
                 scored(pools[1], {{0, 1}, {1, 1}, {2, 1}, {3, 1}})});
  EXPECT_EQ(groups[0].samples, (std::vector<std::uint32_t>{0, 1, 3}));
  EXPECT_EQ(groups[0].count, 3U);
  EXPECT_EQ(groups[1].samples, (std::vector<std::uint32_t>{0, 1})) << "all are equal";
}

TEST(PoolRounds, SamplesWithoutAVerdictComeLast) {
  PoolRounds rounds(2.0);
  std::vector<GroupPlan> groups{group_of(5, 0, 3), group_of(6, 0, 2)};
  const auto pools = rounds.pools(groups);
  rounds.choose(groups, pools, {scored(pools[0], {{2, 1}, {4, 0}})});
  EXPECT_EQ(groups[0].samples, (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(groups[1].samples, (std::vector<std::uint32_t>{0, 1})) << "nothing is known of it";
}

TEST(PoolRounds, ALaterRoundLooksAtItsOwnSamples) {
  PoolRounds rounds(2.0);
  std::vector<GroupPlan> groups{group_of(5, 0, 1)};
  const auto first = rounds.pools(groups);
  std::vector<GroupPlan> more{group_of(5, 1, 2)};
  const auto second = rounds.pools(more);
  rounds.choose(more, second,
                {scored(second[0], {{0, 9}, {1, -9}, {2, 0}, {3, 1}, {4, 2}, {5, 0}})});
  EXPECT_EQ(more[0].samples, (std::vector<std::uint32_t>{2, 4}));
  EXPECT_EQ(first[0].count, 2U);
}

}  // namespace
}  // namespace rollcall::run
