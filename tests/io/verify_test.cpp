// Damage is said with its file, column and bytes; files of schema 1.0 are read; what is set aside is not lost.
#include "io/verify.hpp"

#include "io/difference.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"
#include "io/run_files.hpp"
#include "io/sample_run.hpp"
#include "io/segment.hpp"
#include "io/source.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

/// One rollout long enough that 8 bytes a token are more than two segments.
Sample long_sample() {
  Sample s = sample(1, 1, 1);
  constexpr std::size_t kTokens = (2 * kSegmentBytes + 4096) / sizeof(std::uint64_t);
  Turn& turn = s.shard.groups[0].rollouts[0].turns[1];
  turn.tokens.assign(kTokens, 7);
  turn.logprob.assign(kTokens, -0.5F);
  turn.entropy.assign(kTokens, 0.5F);
  turn.policy_version.resize(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) turn.policy_version[i] = i;
  return s;
}

TEST(Verify, DamageInALongColumnIsSaidWithItsSegment) {
  const RunFolder run;
  const PackInput files = write(run, long_sample());
  ASSERT_TRUE(verify_shard(run, files.shard.path, files.shard).empty());
  std::string bytes = content(run.path() / files.shard.path);
  const std::uint64_t wanted = kSegmentBytes / 8 + 1000;  // a version in the second segment of tokens/policy_version
  std::string pattern(8, '\0');
  std::memcpy(pattern.data(), &wanted, 8);
  const auto at = bytes.find(pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = char(bytes[at] ^ 1);
  put(run.path() / files.shard.path, bytes);
  const auto faults = verify_shard(run, files.shard.path, files.shard);
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].problem.find("its checksum is"), 0U) << faults[0].problem;
  EXPECT_EQ(faults[1].problem.find("tokens/policy_version has checksum"), 0U) << faults[1].problem;
  EXPECT_NE(faults[1].problem.find(": bytes 4194304 to 8388607 differ"), std::string::npos) << faults[1].problem;
}

TEST(Verify, SegmentsDoubleUntilTheyFitAnAttribute) {
  EXPECT_EQ(segment_bytes(1), kSegmentBytes);
  EXPECT_EQ(segment_bytes(4096 * kSegmentBytes), kSegmentBytes);
  EXPECT_EQ(segment_bytes(4096 * kSegmentBytes + 1), 2 * kSegmentBytes);
}

/// A file as schema 1.0 wrote it: without the columns that came later.
TEST(Verify, FilesOfAnEarlierMinorVersionAreRead) {
  const RunFolder run;
  const Sample s = sample(3, 4, 3);
  KeyColumns keys;
  RolloutColumns rollouts;
  for (std::size_t g = 0; g < s.shard.groups.size(); ++g) append(s.shard.groups[g], keys), append(s.shard.groups[g], s.prompts[g], 1.0F, rollouts);
  auto columns = views(keys, rollouts);
  std::erase_if(columns, [](const ColumnView& view) { return view.column.since_minor > 0; });
  Attributes attributes = identity_attributes(identity(), "shard", Purpose::train);
  for (const char* name : {"step", "round", "producer", "policy_version"}) attributes.emplace_back(name, std::uint64_t{4});
  attributes.emplace_back("temperature", 1.0F);
  const auto write_as = [&](std::int32_t minor) {
    attributes[1].second = minor;
    {
      const auto inside = enter_hdf5();
      write_tables(run.path() / "old.h5", columns, {extents_of(columns, 0), {}, attributes}, Values::here);
    }
    return inspect(run, "old.h5");
  };
  const RolloutShard read = read_shard(run, write_as(0));
  ASSERT_EQ(read.groups.size(), 3U);
  EXPECT_EQ(read.groups[1].planned, 0U);
  EXPECT_EQ(read.groups[1].bin, -1);
  EXPECT_TRUE(same(read.groups[1].rollouts, s.shard.groups[1].rollouts));
  const auto today = write_as(kSchemaMinor);
  EXPECT_NE(fault_of([&] { read_shard(run, today); }).find("cannot open column groups/planned"), std::string::npos) << "a file of today must have them";
}

TEST(Verify, AFileUnderAnotherNameIsNoticed) {
  const RunFolder run;
  const PackInput files = write(run, sample(1, 2, 2));
  fs::copy(run.path() / files.shard.path, run.path() / "shards/train-000009-00-0001.h5");
  const auto faults = verify_shard(run, "shards/train-000009-00-0001.h5", std::nullopt);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].problem, "it is the file shards/train-000002-00-0001.h5 under another name");
}

TEST(Verify, AWithdrawnFileLeavesTheManifestAndItsCopy) {
  const RunFolder run;
  const ArchiveEntry one = pack(*comm::alone(), run, "one", {write(run, sample(1, 1, 2))}, identity());
  const ArchiveEntry two = pack(*comm::alone(), run, "two", {write(run, sample(1, 2, 2))}, identity());
  const std::string folder = new_set_aside(run);
  withdraw(run, {two.file.path}, folder + "/manifest.json");
  move_to(run, {two.file.path}, folder);
  ASSERT_EQ(read_manifest(run).size(), 1U);
  EXPECT_EQ(read_manifest(run)[0].file.path, one.file.path);
  EXPECT_NE(content(run.path() / folder / "manifest.json").find("two.h5"), std::string::npos);
  EXPECT_TRUE(fs::exists(run.path() / folder / "two.h5"));
}

/// From the files alone, but for one that is damaged and one that holds the steps of another.
TEST(Verify, ALostManifestIsWrittenAnew) {
  const RunFolder run;
  const auto archive = run.path() / "archive";
  for (std::uint64_t step : {1, 2, 3}) pack(*comm::alone(), run, "step_" + std::to_string(step), {write(run, sample(1, step, 2))}, identity());
  const std::string whole = archive_sha256(run), manifest = content(archive / "manifest.json");
  put(archive / "manifest.json", manifest.substr(0, 100));
  EXPECT_TRUE(rebuild_manifest(run, new_set_aside(run) + "/manifest.json").empty());
  EXPECT_EQ(archive_sha256(run), whole);
  EXPECT_EQ(content(run.path() / "set_aside/0/manifest.json"), manifest.substr(0, 100));
  fs::remove(archive / "manifest.json");
  fs::copy(archive / "step_1.h5", archive / "step_1_again.h5");
  fs::resize_file(archive / "step_3.h5", fs::file_size(archive / "step_3.h5") / 2);
  const auto faults = rebuild_manifest(run, new_set_aside(run) + "/manifest.json");
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].file, "archive/step_3.h5");
  EXPECT_EQ(faults[1].problem, "it holds steps that archive/step_1.h5 holds");
  EXPECT_EQ(read_manifest(run).size(), 2U);
}

TEST(Source, WalksPackedAndLooseStepsInOneOrder) {
  const RunFolder run;
  std::vector<PackInput> first, last;
  for (std::uint64_t step : {3, 4}) last.push_back(write(run, sample(1, step, 2)));
  pack(*comm::alone(), run, "late", last, identity());
  for (std::uint64_t step : {1, 2}) first.push_back(write(run, sample(1, step, 2)));
  pack(*comm::alone(), run, "early", first, identity());
  write(run, sample(1, 5, 2));
  const Sample unscored = sample(1, 6, 2);
  write_shard(run, unscored.shard, unscored.prompts, identity());
  std::vector<std::uint64_t> steps;
  each_group(run, {}, [&](const ArchivedGroup& group, const auto&) { return steps.push_back(group.step), true; });
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  EXPECT_EQ(open_source(run).unscored, std::vector<std::string>{"shards/train-000006-00-0001.h5"});
  steps.clear();
  each_group(run, {.first_step = 2, .last_step = 3}, [&](const ArchivedGroup& group, const auto&) { return steps.push_back(group.step), steps.size() < 3; });
  EXPECT_EQ(steps, (std::vector<std::uint64_t>{2, 2, 3})) << "the visitor ends the walk";
}

/// The run packs in the middle of the walk: what was loose is found in the archive, and no step comes twice.
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

TEST(Difference, NamesTheFirstValue) {
  const RunFolder a, b;
  for (std::uint64_t step : {1, 2}) write(a, sample(1, step, 2)), step == 1 ? (void)write(b, sample(1, step, 2)) : void();
  Sample changed = sample(1, 2, 2);
  changed.scores.scores[1][0].reward = 0.25;
  write(b, changed);
  const Difference d = compare(a, b);
  const Group& group = changed.shard.groups[1];
  EXPECT_EQ(d.first, fmt::format("train step 2, prompt {}, draw 1: sample {}: reward is {} and 0.25", group.id.prompt.value, group.rollouts[0].sample,
                                 sample(1, 2, 2).scores.scores[1][0].reward));
  EXPECT_EQ(d.groups_differing, 1U);
  EXPECT_EQ(compare(a, a).first, "");
  EXPECT_EQ(d.content_a, archive_sha256(a));
}

}  // namespace
}  // namespace rollcall::io::test
