// One file for the ranks of a node: who stores for whom, and that the whole is what the parts were,
// in whatever order they come.
#include "run/scoring/shard_aggregation.hpp"

#include "base/errors/error.hpp"
#include "run/messages/message_bytes.hpp"
#include "run/random_batch.hpp"
#include "sizing/aggregators.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace rollcall::run {
namespace {

using io::test::Dice;
using io::test::same;

comm::StageLayout on_nodes(const std::vector<int>& sizes) {
  comm::StageLayout layout;
  for (const int size : sizes)
    layout.nodes.insert(layout.nodes.end(), std::size_t(size), int(layout.nodes.size()));
  layout.ranks = int(layout.nodes.size());
  return layout;
}

TEST(ShardAggregation, NeighboursOnANodeHaveOneAggregator) {
  const auto all = [](const comm::StageLayout& layout) {
    std::vector<int> ranks(std::size_t(layout.ranks));
    std::iota(ranks.begin(), ranks.end(), 0);
    return sizing::aggregators(layout, ranks);
  };
  EXPECT_EQ(all(on_nodes({3, 2})), (std::vector{0, 0, 0, 3, 3}));
  EXPECT_EQ(all(on_nodes({10})), (std::vector{0, 0, 0, 0, 0, 0, 0, 0, 8, 8}));
  // those without a share have no say
  EXPECT_EQ(sizing::aggregators(on_nodes({3, 2}), {1, 2, 4}), (std::vector{1, 1, 4}));
  EXPECT_TRUE(sizing::aggregators(on_nodes({3}), {}).empty());
  comm::StageLayout apart = on_nodes({4});
  apart.nodes.clear();  // no memory in common
  EXPECT_EQ(all(apart), (std::vector{0, 1, 2, 3}));
  apart.nodes = {0, 1, 0, 1};  // dealt over the nodes in turn
  EXPECT_EQ(all(apart), (std::vector{0, 1, 0, 1}));
}

/// Of a step of random groups, cut where a rank's share ends.
std::vector<GradedShard> parts_of(const StepBatch& batch, std::size_t ranks) {
  std::vector<GradedShard> parts(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    auto& [notice, shard, scores, facts, read_s, scoring_s] = parts[r];
    notice.aggregator = 0, notice.aggregated = std::uint32_t(ranks),
    notice.generation_s = {{std::uint32_t(r), 0.5 + double(r)}}, notice.archive_s = double(r);
    shard.step = scores.step = 3, shard.round = scores.round = 1,
    shard.producer = scores.producer = std::uint32_t(r);
    shard.policy = {7}, shard.temperature = 0.5F;
    scores.component_names = batch.component_names;
    facts.undecided = r, facts.seconds = {float(r)},
    facts.slowest = {{"sample of " + std::to_string(r), double(r)}};
    scoring_s = double(ranks - r);
  }
  for (std::size_t g = 0; g < batch.groups.size(); ++g) {
    auto& part = parts[g * ranks / batch.groups.size()];
    part.shard.groups.push_back(batch.groups[g]), part.scores.scores.push_back(batch.scores[g]);
  }
  return parts;
}

TEST(ShardAggregation, TheWholeIsItsPartsInOrder) {
  EXPECT_TRUE(rc::check("whichever comes last", [] {
    const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1U << 30);
    const auto ranks = *rc::gen::inRange<std::size_t>(1, sizing::kMostAggregated + 1);
    StepBatch batch = random_batch(seed, 1 + seed % 12);
    for (auto& scores : batch.scores)
      scores.front().reason = "why", scores.back().clock_ended = true;
    std::vector<GradedShard> parts = parts_of(batch, ranks);
    Dice dice{seed};
    for (std::size_t i = parts.size(); i > 1; --i) std::swap(parts[i - 1], parts[dice.below(i)]);
    ShardAggregation aggregation;
    std::optional<GradedShard> whole;
    for (auto& part : parts) {
      RC_ASSERT(!whole);
      const bool travels = part.shard.producer != 0;
      whole = aggregation.add(
          travels ? from_part(from_bytes<GradedPart>(to_bytes(to_part(std::move(part)))))
                  : std::move(part));
    }
    RC_ASSERT(whole.has_value());
    RC_ASSERT(same(whole->shard.groups, batch.groups));
    RC_ASSERT(same(whole->scores.scores, batch.scores));
    RC_ASSERT(whole->scores.component_names == batch.component_names);
    for (const auto producer : {whole->shard.producer, whole->scores.producer})
      RC_ASSERT(producer == 0U);
    RC_ASSERT(whole->shard.step == 3U);
    RC_ASSERT(whole->scores.round == 1U);
    RC_ASSERT(whole->shard.policy == PolicyVersion{7});
    RC_ASSERT(whole->shard.temperature == 0.5F);
    RC_ASSERT(whole->notice.generation_s.size() == ranks);
    RC_ASSERT(whole->notice.generation_s.at(std::uint32_t(ranks - 1)) == 0.5 + double(ranks - 1));
    RC_ASSERT(whole->notice.archive_s == double(ranks - 1));
    RC_ASSERT(whole->scoring_s == double(ranks));
    RC_ASSERT(whole->facts.undecided == ranks * (ranks - 1) / 2);
    RC_ASSERT(whole->facts.seconds.size() == ranks);
    RC_ASSERT(whole->facts.slowest.front().seconds == double(ranks - 1));
  }));
}

TEST(ShardAggregation, APartThatIsCutCutsTheWhole) {
  const StepBatch batch = random_batch(5, 6);
  for (std::size_t of = 0; of < 3; ++of) {
    auto parts = parts_of(batch, 3);
    parts[of].notice.cut = true, parts[of].shard.groups.clear(), parts[of].scores = {};
    ShardAggregation aggregation;
    EXPECT_FALSE(aggregation.add(std::move(parts[2])));
    EXPECT_FALSE(
        aggregation.add(from_part(from_bytes<GradedPart>(to_bytes(to_part(std::move(parts[1])))))));
    const auto whole = aggregation.add(std::move(parts[0]));
    ASSERT_TRUE(whole.has_value());
    EXPECT_TRUE(whole->notice.cut) << of;
    EXPECT_EQ(whole->notice.generation_s.size(), 3U);
  }
}

TEST(ShardAggregation, RoundsAndPurposesAreApart) {
  const StepBatch batch = random_batch(5, 4);
  ShardAggregation aggregation;
  auto first = parts_of(batch, 2), later = parts_of(batch, 2), greedy = parts_of(batch, 2);
  for (auto& part : later) part.shard.round = 2;
  for (auto& part : greedy) part.shard.purpose = Purpose::greedy;
  for (auto* parts : {&first, &later, &greedy})
    EXPECT_FALSE(aggregation.add(std::move(parts->front())));
  EXPECT_EQ(aggregation.add(std::move(later[1]))->shard.round, 2U);
  EXPECT_EQ(aggregation.add(std::move(greedy[1]))->shard.purpose, Purpose::greedy);
  EXPECT_EQ(aggregation.add(std::move(first[1]))->shard.round, 1U);
}

/// Where verdicts are dear, or another rank keeps what is judged, each rank stores its own.
TEST(ShardAggregation, OnlyWhereVerdictsComeAtOnce) {
  const auto asked = [](const std::vector<std::string>& settings,
                        const char* layout = "colocated") {
    return sizing::aggregates(load_run_config({}, settings), comm::make_layout(layout, 4));
  };
  EXPECT_TRUE(asked({}));
  EXPECT_FALSE(asked({}, "disaggregated"));
  EXPECT_FALSE(asked({"reward.command=[\"cat\"]"}));
  EXPECT_FALSE(asked({"reward.verifier=code"}));
}

TEST(ShardAggregation, RefusesAPartThatIsNotWhole) {
  auto part = to_part(std::move(parts_of(random_batch(5, 4), 2)[1]));
  part.groups.pop_back();
  EXPECT_THROW(from_part(std::move(part)), ProtocolError);
}

}  // namespace
}  // namespace rollcall::run
