// Joining by columns against joining by values: the same rows from any shards.
#include "io/column_join.hpp"

#include "io/canonical.hpp"
#include "io/group_columns.hpp"
#include "io/sample_run.hpp"
#include "io/table_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <map>

namespace rollcall::io::test {
namespace {

/// What canonical() makes of the shards, as columns; `training`: of some of their steps.
std::map<std::string, std::string> by_values(const RunFolder& run,
                                             const std::vector<PackInput>& inputs,
                                             const std::vector<StepTraining>& training) {
  std::vector<ArchivedGroup> groups;
  std::vector<std::string> component_names;
  for (const PackInput& input : inputs) append_scored(run, input, groups, component_names);
  KeyColumns keys;
  RolloutColumns rollouts;
  ScoreColumns scores;
  TrainingColumns trained;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const ArchivedGroup& group : canonical(std::move(groups))) {
    append(group.group, keys);
    append(group.group, group.prompt, group.temperature, rollouts);
    append(group.scores, component_names.size(), scores);
    const auto told = std::find_if(training.begin(), training.end(), [&](const StepTraining& step) {
      return step.step == group.step;
    });
    const auto of_group =
        told == training.end() ? std::vector<RolloutTraining>() : training_of(*told, group.group);
    for (std::size_t i = 0; i < group.group.rollouts.size(); ++i) {
      trained.trained.push_back(of_group.empty()   ? TrainingColumns::kUnrecorded
                                : of_group[i].left ? TrainingColumns::kLeft
                                                   : std::uint8_t(of_group[i].trained));
      trained.weight.push_back(of_group.empty() ? none : of_group[i].weight),
          trained.advantage.push_back(of_group.empty() ? none : of_group[i].advantage);
    }
  }
  std::map<std::string, std::string> columns;
  for (const ColumnView& view : views(keys, rollouts, scores, trained))
    columns[path_of(view.column)] = {reinterpret_cast<const char*>(view.bytes.data()),
                                     view.bytes.size()};
  return columns;
}

/// Read in two goes, so that a piece is cut.
std::map<std::string, std::string> by_pieces(const JoinedColumns& joined) {
  std::map<std::string, std::string> columns;
  for (const ColumnPieces& column : joined.columns) {
    std::string& bytes = columns[path_of(column.column)];
    bytes.resize(column.bytes);
    PiecesReader reader(column);
    const auto out = std::as_writable_bytes(std::span(bytes));
    reader.take(out.first(out.size() / 3));
    reader.take(out.subspan(out.size() / 3));
  }
  return columns;
}

TEST(ColumnJoin, IsTheJoinOfValues) {
  EXPECT_TRUE(rc::check([](std::uint16_t seed) {
    const RunFolder run;
    std::vector<PackInput> inputs;
    std::vector<StepTraining> trained;
    const auto steps = *rc::gen::inRange<std::uint64_t>(1, 4),
               producers = *rc::gen::inRange<std::uint64_t>(1, 4),
               rounds = *rc::gen::inRange<std::uint64_t>(1, 4);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      std::vector<Sample> shards;
      for (std::uint64_t producer = 1; producer <= producers; ++producer)
        for (std::uint64_t round = 0; round < rounds; ++round)
          shards.push_back(
              sample(seed, step, (seed + step) % 5, std::uint32_t(round), std::uint32_t(producer)));
      for (const Sample& shard : shards) inputs.push_back(write(run, shard));
      // the others were not recorded
      if ((seed + step) % 3 != 0) trained.push_back(training(shards));
    }
    if (*rc::gen::arbitrary<bool>()) std::reverse(inputs.begin(), inputs.end());
    std::vector<MappedShard> shards;
    for (const PackInput& input : inputs) shards.push_back(map_shard(run, input));
    RC_ASSERT(by_pieces(join(shards, trained)) == by_values(run, inputs, trained));
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
  const std::string fault = fault_of([&] { map_shard(run, {good.shard, wrong.scores}); });
  EXPECT_NE(
      fault.find("its groups or rollouts differ from those of shards/train-000001-00-0001.h5"),
      std::string::npos)
      << fault;
}

}  // namespace
}  // namespace rollcall::io::test
