// A run is one sequence of groups, whatever files hold them; two runs are compared group by group.
#include "io/source.hpp"
#include "io/shard_name.hpp"

#include "io/difference.hpp"
#include "io/sample_run.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rollcall::io::test {
namespace {

TEST(Source, WalksPackedAndLooseStepsInOneOrder) {
  const RunFolder run;
  std::vector<PackInput> first, last;
  for (std::uint64_t step : {3, 4}) last.push_back(write(run, sample(1, step, 2)));
  pack(*comm::alone(), run, "late", last, identity());
  for (std::uint64_t step : {1, 2}) first.push_back(write(run, sample(1, step, 2)));
  pack(*comm::alone(), run, "early", first, identity());
  write_in_one(run, sample(1, 5, 2));
  const Sample unscored = sample(1, 6, 2);
  publish(run, draft_shard(unscored.shard, unscored.prompts, identity()));
  std::vector<std::uint64_t> steps;
  each_group(run, {}, [&](const ArchivedGroup& group, const auto&) {
    return steps.push_back(group.step), true;
  });
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(open_source(run).unscored, std::vector<std::string>{"shards/train-000006-00-0001.h5"});
  steps.clear();
  each_group(run, {.first_step = 2, .last_step = 3}, [&](const ArchivedGroup& group, const auto&) {
    return steps.push_back(group.step), steps.size() < 3;
  });
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{2, 2, 3})) << "the visitor ends the walk";
}

/// The run packs in the middle of the walk: what was loose is found in the archive, and no step
/// comes twice.
TEST(Source, APackInBetweenIsFollowed) {
  const RunFolder run;
  std::vector<PackInput> inputs;
  for (std::uint64_t step : {1, 2, 3, 4}) inputs.push_back(write(run, sample(1, step, 1)));
  std::vector<std::uint64_t> steps;
  each_group(run, {}, [&](const ArchivedGroup& group, const auto&) {
    if (steps.size() == 1) pack(*comm::alone(), run, "now", inputs, identity());
    return steps.push_back(group.step), true;
  });
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

/// A link to nowhere is listed and never there: said once, not asked for again and again.
TEST(Source, WhatIsListedAndNotThereEndsTheWalk) {
  const RunFolder run;
  const PackInput input = write(run, sample(1, 1, 1));
  std::filesystem::remove(run.path() / input.shard.path);
  std::filesystem::create_symlink("nowhere", run.path() / input.shard.path);
  EXPECT_THROW(each_group(run, {}, [](const ArchivedGroup&, const auto&) { return true; }),
               StorageError);
  EXPECT_FALSE(ShardName::parse("shards/train-1-0-0.h5"))
      << "another name than the one that is written";
}

TEST(Source, AShardIsOneFileOrTwo) {
  const RunFolder run;
  const PackInput two = write(run, sample(1, 1, 2)), one = write_in_one(run, sample(1, 2, 2));
  EXPECT_EQ(files_of_shard(two.shard.path),
            (std::vector<std::string>{two.shard.path, two.scores.path}));
  EXPECT_EQ(files_of_shard(one.shard.path), std::vector<std::string>{one.shard.path});
  const auto groups_in = [](const std::filesystem::path& file) {
    int groups = 0;
    each_group(file, {}, [&](const ArchivedGroup&, const auto&) { return ++groups > 0; });
    return groups;
  };
  const std::filesystem::path elsewhere = run.path() / "elsewhere";
  std::filesystem::create_directory(elsewhere);
  for (const PublishedFile& file : {one.shard, two.scores})
    std::filesystem::copy(run.path() / file.path, elsewhere);
  EXPECT_EQ(groups_in(elsewhere / std::filesystem::path(one.shard.path).filename()), 2)
      << "it needs no other file";
  EXPECT_THROW(groups_in(elsewhere / std::filesystem::path(two.scores.path).filename()), InputError)
      << "half of a shard";
  std::filesystem::copy(run.path() / two.shard.path, elsewhere);
  EXPECT_EQ(groups_in(elsewhere / std::filesystem::path(two.scores.path).filename()), 2);
}

TEST(Difference, NamesTheFirstValue) {
  const RunFolder a, b;
  for (std::uint64_t step : {1, 2})
    write(a, sample(1, step, 2)), step == 1 ? (void)write(b, sample(1, step, 2)) : void();
  Sample changed = sample(1, 2, 2);
  changed.scores.scores[1][0].reward = 0.25;
  write(b, changed);
  const Difference d = compare(a, b);
  const Group& group = changed.shard.groups[1];
  EXPECT_EQ(d.first,
            fmt::format("train step 2, prompt {}, draw 1: sample {}: reward is {} and 0.25",
                        group.id.prompt.value, group.rollouts[0].sample,
                        sample(1, 2, 2).scores.scores[1][0].reward));
  EXPECT_EQ(d.groups_differing, 1U);
  EXPECT_EQ(compare(a, a).first, "");
  EXPECT_EQ(d.content_a, archive_sha256(a));
}

}  // namespace
}  // namespace rollcall::io::test
