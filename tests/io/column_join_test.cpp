// Joining by columns against joining by values: the same rows from any shards.
#include "io/column_join.hpp"

#include "io/canonical.hpp"
#include "io/group_columns.hpp"
#include "io/sample_run.hpp"
#include "io/table_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::io::test {
namespace {

/// What canonical() makes of the shards, as columns.
ScoredColumns by_values(const RunFolder& run, const std::vector<PackInput>& inputs) {
  std::vector<ArchivedGroup> groups;
  ScoredColumns columns;
  for (const PackInput& input : inputs) append_scored(run, input, groups, columns.component_names);
  for (const ArchivedGroup& group : canonical(std::move(groups))) {
    append(group.group, columns.keys);
    append(group.group, group.prompt, group.temperature, columns.rollouts);
    append(group.scores, columns.component_names.size(), columns.scores);
  }
  return columns;
}

bool same_bytes(const ScoredColumns& a, const ScoredColumns& b) {
  const auto x = views(a.keys, a.rollouts, a.scores), y = views(b.keys, b.rollouts, b.scores);
  return a.component_names == b.component_names && std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const ColumnView& p, const ColumnView& q) {
           return std::equal(p.bytes.begin(), p.bytes.end(), q.bytes.begin(), q.bytes.end());
         });
}

TEST(ColumnJoin, IsTheJoinOfValues) {
  EXPECT_TRUE(rc::check([](std::uint16_t seed) {
    const RunFolder run;
    std::vector<PackInput> inputs;
    const auto steps = *rc::gen::inRange<std::uint64_t>(1, 4), producers = *rc::gen::inRange<std::uint64_t>(1, 4), rounds = *rc::gen::inRange<std::uint64_t>(1, 4);
    for (std::uint64_t step = 1; step <= steps; ++step)
      for (std::uint64_t producer = 1; producer <= producers; ++producer)
        for (std::uint64_t round = 0; round < rounds; ++round) inputs.push_back(write(run, sample(seed, step, (seed + step) % 5, std::uint32_t(round), std::uint32_t(producer))));
    if (*rc::gen::arbitrary<bool>()) std::reverse(inputs.begin(), inputs.end());
    std::vector<ScoredColumns> shards;
    for (const PackInput& input : inputs) shards.push_back(read_scored_columns(run, input));
    RC_ASSERT(same_bytes(join(shards), by_values(run, inputs)));
  }));
}

TEST(ColumnJoin, ScoresOfOtherRolloutsAreRefused) {
  const RunFolder run;
  Sample s = sample(1, 1, 3);
  const PackInput good = write(run, s);
  s.shard.groups[1].rollouts[0].sample += 50;
  const RunFolder other;
  const PackInput wrong = write(other, s);
  put(run.path() / good.scores.path, content(other.path() / wrong.scores.path));
  const std::string fault = fault_of([&] { read_scored_columns(run, {good.shard, wrong.scores}); });
  EXPECT_NE(fault.find("it has other groups or rollouts than shards/train-000001-00-0001.h5"), std::string::npos) << fault;
}

}  // namespace
}  // namespace rollcall::io::test
