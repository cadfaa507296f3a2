// What a step trained on: a file of its own, columns of the archive once packed, the same for every
// reader; of steps that lack it nothing is claimed.
#include "io/training_file.hpp"

#include "io/group_columns.hpp"
#include "io/published.hpp"
#include "io/run_files.hpp"
#include "io/sample_run.hpp"
#include "io/shard_name.hpp"
#include "io/source.hpp"
#include "io/table_file.hpp"
#include "io/verify.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rollcall::io::test {
namespace {

using ByGroup = std::map<std::pair<std::uint64_t, GroupId>, std::vector<RolloutTraining>>;

ByGroup read_back(const std::filesystem::path& run) {
  ByGroup found;
  each_group(run, {}, [&](const ArchivedGroup& group, const auto&) {
    return found[{group.step, group.group.id}] = group.training, true;
  });
  return found;
}

/// Steps 1 and 2 of two shards each, of which step 2 says what it trained on.
std::vector<PackInput> two_steps(const RunFolder& run) {
  std::vector<PackInput> inputs;
  for (const std::uint64_t step : {1, 2})
    for (const std::uint32_t producer : {1U, 2U})
      inputs.push_back(write_in_one(run, sample(3, step, 3, 0, producer)));
  inputs.push_back(write_training(run, {sample(3, 2, 3, 0, 1), sample(3, 2, 3, 0, 2)}));
  return inputs;
}

TEST(TrainingFile, IsReadAsItWasWritten) {
  const RunFolder run;
  const StepTraining step =
      training({sample(3, 2, 3, 0, 1), sample(3, 2, 3, 1, 1), sample(3, 2, 3, 0, 2)});
  const PublishedFile file = publish(run, draft_training(step, identity()));
  EXPECT_EQ(file.path, "shards/train-000002-00-0000-training.h5");
  const StepTraining read = read_training(run, file);
  EXPECT_EQ(read.step, 2U);
  EXPECT_EQ(read.keys.sample, step.keys.sample);
  EXPECT_EQ(read.columns.trained, step.columns.trained);
  EXPECT_EQ(read.columns.weight, step.columns.weight);
  EXPECT_EQ(read.columns.advantage, step.columns.advantage);
}

TEST(TrainingFile, IsPackedWithItsShardsAndSaysTheSameThere) {
  const RunFolder run;
  const auto inputs = two_steps(run);
  const ByGroup loose = read_back(run);
  EXPECT_EQ(open_source(run).loose.size(), 4U) << "it is no shard";
  const auto entry = pack(*comm::alone(), run, "train", inputs, identity());
  const ByGroup packed = read_back(run);
  ASSERT_EQ(loose.size(), packed.size());
  std::size_t trained = 0, left_out = 0, left = 0;
  for (const auto& [key, rollouts] : loose) {
    EXPECT_EQ(rollouts.empty(), key.first == 1) << "of step 1 nobody knows";
    EXPECT_TRUE(same(rollouts, packed.at(key)) && rollouts.size() == packed.at(key).size());
    for (const auto& rollout : rollouts)
      (rollout.trained ? trained : rollout.left ? left : left_out) += 1;
  }
  EXPECT_GT(trained, 0U);
  EXPECT_GT(left_out, 0U);
  EXPECT_GT(left, 0U);
  EXPECT_TRUE(list_shards(run).empty()) << "it is removed with the shards";
  EXPECT_TRUE(verify_archive(run, entry).empty());
}

/// An archive as schema 1.4 wrote it.
TEST(TrainingFile, AnEarlierArchiveClaimsNothing) {
  const RunFolder run;
  const Sample s = sample(3, 4, 3);
  const ArchiveEntry today =
      pack(*comm::alone(), run, "today", {write(run, s), write_training(run, {s})}, identity());
  KeyColumns keys;
  RolloutColumns rollouts;
  ScoreColumns scores;
  for (const ArchivedGroup& each : read_archive(run, today))
    append(each.group, keys), append(each.group, each.prompt, each.temperature, rollouts),
        append(each.scores, 2, scores);
  const auto columns = views(keys, rollouts, scores);
  Attributes attributes = identity_attributes(identity(), "archive", Purpose::train);
  attributes[1].second = std::int32_t{4};
  attributes.emplace_back("first_step", std::uint64_t{4}),
      attributes.emplace_back("last_step", std::uint64_t{4});
  {
    const auto inside = enter_hdf5();
    write_tables(run.path() / "old.h5", columns,
                 {extents_of(columns, 2), s.scores.component_names, attributes}, Values::here);
  }
  const ArchiveEntry old = describe(run, "old.h5");
  EXPECT_TRUE(verify_archive(run, old).empty());
  const auto groups = read_archive(run, old);
  ASSERT_EQ(groups.size(), 3U);
  for (const ArchivedGroup& group : groups) EXPECT_TRUE(group.training.empty());
  for (const ArchivedGroup& group : read_archive(run, today))
    EXPECT_EQ(group.training.size(), group.group.rollouts.size());
}

TEST(TrainingFile, OfOtherRolloutsIsNotPacked) {
  const RunFolder run;
  std::vector<PackInput> inputs{
      write(run, sample(3, 2, 3, 0, 1)),
      write_training(run, {sample(3, 2, 3, 0, 1), sample(3, 2, 3, 0, 2)})};
  const std::string fault =
      fault_of([&] { pack(*comm::alone(), run, "train", inputs, identity()); });
  EXPECT_NE(fault.find("what step 2 trained on speaks of other rollouts than its shards hold"),
            std::string::npos)
      << fault;
  EXPECT_EQ(list_shards(run).size(), 3U) << "all stay";
}

TEST(TrainingFile, DamageAndAWrongNameAreTold) {
  const RunFolder run;
  const PublishedFile file = write_training(run, {sample(3, 2, 3)}).shard;
  EXPECT_TRUE(verify_shard(run, file.path, file).empty());
  const std::string other = "shards/train-000003-00-0000-training.h5",
                    bytes = content(run.path() / file.path);
  put(run.path() / other, bytes);
  const auto misnamed = verify_shard(run, other, std::nullopt);
  ASSERT_EQ(misnamed.size(), 1U);
  EXPECT_NE(misnamed.front().problem.find("it is the file " + file.path + " under another name"),
            std::string::npos)
      << misnamed.front().problem;
  std::string damaged = bytes;
  const StepTraining step = read_training(run, file);
  const std::string_view advantages(reinterpret_cast<const char*>(step.columns.advantage.data()),
                                    step.columns.advantage.size() * sizeof(double));
  const auto at = damaged.find(advantages);
  ASSERT_NE(at, std::string::npos);
  damaged[at] ^= 1;
  put(run.path() / file.path, damaged);
  const auto faults = verify_shard(run, file.path, file);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_NE(faults[1].problem.find("rollouts/advantage has checksum"), std::string::npos)
      << faults[1].problem;
  EXPECT_EQ(verify_shard(run, file.path, std::nullopt).size(), 1U)
      << "its own checksums say it too";
}

TEST(TrainingFile, AloneItIsNoSource) {
  const RunFolder run;
  const PublishedFile file = write_training(run, {sample(3, 2, 3)}).shard;
  EXPECT_THROW(open_source(run.path() / file.path), InputError);
  const PackInput shard = write_in_one(run, sample(3, 2, 3));
  EXPECT_EQ(open_source(run.path() / shard.shard.path).training.size(), 1U)
      << "a shard finds it beside itself";
}

}  // namespace
}  // namespace rollcall::io::test
