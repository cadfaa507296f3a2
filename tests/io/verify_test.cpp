// Damage is said with its file, column and bytes; files of schema 1.0 are read; what is set aside
// is not lost.
#include "io/verify.hpp"

#include "io/fault.hpp"
#include "io/group_columns.hpp"
#include "io/published.hpp"
#include "io/run_files.hpp"
#include "io/sample_run.hpp"
#include "io/segment.hpp"
#include "io/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

/// One rollout long enough that 8 bytes a token are more than two segments.
Sample long_sample() {
  Sample s = sample(1, 1, 1);
  constexpr std::size_t kTokens = (2 * kSegmentBytes + 4096) / sizeof(std::uint64_t);
  Turn& turn = s.shard.groups[0].rollouts[0].turns[1];
  turn.tokens.assign(kTokens, 7);
  turn.columns.logprob.assign(kTokens, -0.5F);
  turn.columns.entropy.assign(kTokens, 0.5F);
  turn.policy_version.resize(kTokens);
  for (std::size_t i = 0; i < kTokens; ++i) turn.policy_version[i] = i;
  turn.kept_mass.clear(), turn.kept = {};
  return s;
}

TEST(Verify, DamageInALongColumnIsSaidWithItsSegment) {
  const RunFolder run;
  const PackInput files = write(run, long_sample());
  ASSERT_TRUE(verify_shard(run, files.shard.path, files.shard).empty());
  std::string bytes = content(run.path() / files.shard.path);
  const std::uint64_t wanted = kSegmentBytes / 8 + 1000;  // a version in the second segment of
                                                          // tokens/policy_version
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
  EXPECT_NE(faults[1].problem.find(": bytes 4194304 to 8388607 differ"), std::string::npos)
      << faults[1].problem;
}

TEST(Verify, SegmentsDoubleUntilTheyFitAnAttribute) {
  EXPECT_EQ(segment_bytes(1), kSegmentBytes);
  EXPECT_EQ(segment_bytes(4096 * kSegmentBytes), kSegmentBytes);
  EXPECT_EQ(segment_bytes(4096 * kSegmentBytes + 1), 2 * kSegmentBytes);
}

/// A file as schema 1.0 wrote it: without the columns that came later.
TEST(Verify, FilesOfAnEarlierMinorVersionAreRead) {
  const RunFolder run;
  Sample s = sample(3, 4, 3);
  for (auto& group : s.shard.groups) {
    forget_conversation(group);
    for (auto& rollout : group.rollouts)
      for (auto& turn : rollout.turns) turn.kept_mass.clear(), turn.kept = {};
  }
  KeyColumns keys;
  RolloutColumns rollouts;
  for (std::size_t g = 0; g < s.shard.groups.size(); ++g)
    append(s.shard.groups[g], keys), append(s.shard.groups[g], s.prompts[g], 1.0F, rollouts);
  auto columns = views(keys, rollouts);
  std::erase_if(columns, [](const ColumnView& view) { return view.column.since_minor > 0; });
  Attributes attributes = identity_attributes(identity(), "shard", Purpose::train);
  for (const char* name : {"step", "round", "producer", "policy_version"})
    attributes.emplace_back(name, std::uint64_t{4});
  attributes.emplace_back("temperature", 1.0F);
  const auto write_as = [&](std::int32_t minor) {
    attributes[1].second = minor;
    {
      const auto inside = enter_hdf5();
      write_tables(run.path() / "old.h5", columns, {extents_of(columns, 0), {}, attributes},
                   Values::here);
    }
    return inspect(run, "old.h5");
  };
  const RolloutShard read = read_shard(run, write_as(0));
  ASSERT_EQ(read.groups.size(), 3U);
  EXPECT_EQ(read.groups[1].planned, 0U);
  EXPECT_EQ(read.groups[1].bin, -1);
  EXPECT_TRUE(same(read.groups[1].rollouts, s.shard.groups[1].rollouts));
  EXPECT_EQ(read.groups[1].from, Derivation{});
  const auto today = write_as(kSchemaMinor);
  EXPECT_NE(fault_of([&] { read_shard(run, today); }).find("cannot open column groups/planned"),
            std::string::npos)
      << "a file of today must have them";
}

/// Scores as schema 1.2 wrote them: every verdict was decided, and none had a reason. They are
/// read, and packed beside those of today.
TEST(Verify, ScoresOfAnEarlierMinorVersionAreReadAndPacked) {
  const RunFolder run;
  Sample s = sample(3, 4, 3);
  for (auto& group : s.scores.scores)
    for (auto& score : group) score.undecided = score.clock_ended = false, score.reason.clear();
  PackInput input = write(run, s);
  KeyColumns keys;
  ScoreColumns scores;
  for (std::size_t g = 0; g < s.shard.groups.size(); ++g)
    append(s.shard.groups[g], keys), append(s.scores.scores[g], 2, scores);
  auto columns = views(keys, scores);
  std::erase_if(columns, [](const ColumnView& view) { return view.column.since_minor > 2; });
  EXPECT_EQ(columns.size(), views(keys, scores).size() - 4);
  Attributes attributes = identity_attributes(identity(), "scores", Purpose::train);
  attributes[1].second = std::int32_t{2};
  for (const auto& [name, value] :
       {std::pair("step", 4), {"round", 0}, {"producer", 1}, {"policy_version", 4}})
    attributes.emplace_back(name, std::uint64_t(value));
  attributes.emplace_back("temperature", 0.75F);
  {
    const auto inside = enter_hdf5();
    write_tables(run.path() / input.scores.path, columns,
                 {extents_of(columns, 2), s.scores.component_names, attributes}, Values::here);
  }
  input.scores = inspect(run, input.scores.path);
  EXPECT_TRUE(same(read_scores(run, input.scores).scores, s.scores.scores));
  const std::string content = archive_sha256(run);
  Sample later = sample(3, 5, 2);
  const PackInput second = write(run, later);
  const auto ranks = comm::alone();
  const ArchiveEntry entry = pack(*ranks, run, "both", {input, second}, identity());
  EXPECT_TRUE(verify_archive(run, entry).empty());
  std::size_t undecided = 0, expected = 0;
  for (const auto& group : read_archive(run, entry))
    for (const auto& score : group.scores) undecided += score.undecided ? 1 : 0;
  for (const auto& group : later.scores.scores)
    for (const auto& score : group) expected += score.undecided ? 1 : 0;
  EXPECT_EQ(undecided, expected);
  EXPECT_NE(archive_sha256(run), content);
}

/// Columns of a step of which nobody noted what it trained on.
TrainingColumns unrecorded(std::size_t rollouts) {
  const std::vector<double> none(rollouts, std::numeric_limits<double>::quiet_NaN());
  return {std::vector<std::uint8_t>(rollouts, TrainingColumns::kUnrecorded), none, none};
}

/// Every checksum is right, but the groups stand as a shard has them: by falling prompt.
TEST(Verify, AnArchiveInAnotherOrderIsNoticed) {
  const RunFolder run;
  Sample s = sample(3, 4, 2);
  const auto fault = [&] {
    KeyColumns keys;
    RolloutColumns rollouts;
    ScoreColumns scores;
    for (std::size_t g = 0; g < 2; ++g) {
      append(s.shard.groups[g], keys), append(s.shard.groups[g], s.prompts[g], 1.0F, rollouts),
          append(s.scores.scores[g], 2, scores);
    }
    Attributes attributes = identity_attributes(identity(), "archive", Purpose::train);
    for (const char* name : {"first_step", "last_step"})
      attributes.emplace_back(name, std::uint64_t{4});
    const TrainingColumns training =
        unrecorded(s.shard.groups[0].rollouts.size() + s.shard.groups[1].rollouts.size());
    const auto columns = views(keys, rollouts, scores, training);
    writing(run.path() / "x.h5", [&] {
      write_tables(run.path() / "x.h5", columns,
                   {extents_of(columns, 2), s.scores.component_names, attributes}, Values::here);
    });
    const auto faults = verify_archive(run, describe(run, "x.h5"));
    return faults.empty() ? "" : faults.front().problem;
  };
  EXPECT_EQ(fault(),
            "row 1 of groups does not follow the row before it in order of step, prompt and draw");
  std::swap(s.shard.groups[0], s.shard.groups[1]), std::swap(s.prompts[0], s.prompts[1]),
      std::swap(s.scores.scores[0], s.scores.scores[1]);
  const bool falling =
      s.shard.groups[0].rollouts.size() > 1 || s.shard.groups[1].rollouts.size() > 1;
  EXPECT_EQ(fault().find("of rollouts does not follow the row before it in order of sample") !=
                std::string::npos,
            falling);
  for (std::size_t g = 0; g < 2; ++g) {
    std::reverse(s.shard.groups[g].rollouts.begin(), s.shard.groups[g].rollouts.end());
    std::reverse(s.scores.scores[g].begin(), s.scores.scores[g].end());
  }
  EXPECT_EQ(fault(), "");
}

/// Its bytes are those published, so it is whole, and this program has nothing to say about what is
/// in it.
TEST(Verify, AFileOfANewerSchemaIsNoDamage) {
  const RunFolder run;
  const Sample s = sample(3, 4, 2);
  KeyColumns keys;
  RolloutColumns rollouts;
  ScoreColumns scores;
  append(s.shard.groups[0], keys), append(s.shard.groups[0], s.prompts[0], 1.0F, rollouts),
      append(s.scores.scores[0], 2, scores);
  Attributes attributes = identity_attributes(identity(), "archive", Purpose::train);
  for (const char* name : {"first_step", "last_step"})
    attributes.emplace_back(name, std::uint64_t{4});
  const auto write_as = [&](std::int32_t major) {
    attributes[0].second = major;
    const TrainingColumns training = unrecorded(s.shard.groups[0].rollouts.size());
    const auto columns = views(keys, rollouts, scores, training);
    writing(run.path() / "x.h5", [&] {
      write_tables(run.path() / "x.h5", columns,
                   {extents_of(columns, 2), s.scores.component_names, attributes}, Values::here);
    });
  };
  write_as(kSchemaMajor);
  ArchiveEntry entry = describe(run, "x.h5");
  ASSERT_TRUE(verify_archive(run, entry).empty());
  write_as(kSchemaMajor + 1);
  ASSERT_EQ(verify_archive(run, entry).size(), 2U) << "other bytes than those published";
  EXPECT_EQ(verify_archive(run, entry)[0].kind, Fault::Kind::damage);
  entry.file = inspect(run, "x.h5");
  const auto faults = verify_archive(run, entry);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].kind, Fault::Kind::newer) << faults[0].problem;
  fs::create_directories(run.path() / "archive");
  fs::rename(run.path() / "x.h5", run.path() / "archive/x.h5");
  EXPECT_THROW(rebuild_manifest(run, identity().seed, "copy.json"), EnvironmentError);
  EXPECT_FALSE(fs::exists(run.path() / "archive/manifest.json"))
      << "one without it would be believed";
}

TEST(Verify, AFileUnderAnotherNameIsNoticed) {
  const RunFolder run;
  const PackInput files = write(run, sample(1, 2, 2));
  fs::copy(run.path() / files.shard.path, run.path() / "shards/train-000009-00-0001.h5");
  const auto faults = verify_shard(run, "shards/train-000009-00-0001.h5", std::nullopt);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].problem, "it is the file shards/train-000002-00-0001.h5 under another name");
  const std::string both = write_in_one(run, sample(1, 3, 2)).shard.path;
  EXPECT_TRUE(verify_shard(run, both, std::nullopt).empty());
  for (const char* other :
       {"shards/train-000003-00-0001.h5", "shards/train-000003-00-0001-scores.h5"}) {
    fs::copy(run.path() / both, run.path() / other);
    const auto wrong = verify_shard(run, other, std::nullopt);
    ASSERT_EQ(wrong.size(), 1U) << other;
    EXPECT_EQ(wrong[0].problem, "it is the file " + both + " under another name");
  }
}

TEST(Verify, AWithdrawnFileLeavesTheManifestAndItsCopy) {
  const RunFolder run;
  const ArchiveEntry one =
      pack(*comm::alone(), run, "one", {write(run, sample(1, 1, 2))}, identity());
  const ArchiveEntry two =
      pack(*comm::alone(), run, "two", {write(run, sample(1, 2, 2))}, identity());
  const std::string folder = new_set_aside(run);
  amend(run, {two.file.path}, {}, folder + "/manifest.json");
  move_to(run, {two.file.path}, folder);
  ASSERT_EQ(read_manifest(run).size(), 1U);
  EXPECT_EQ(read_manifest(run)[0].file.path, one.file.path);
  EXPECT_NE(content(run.path() / folder / "manifest.json").find("two.h5"), std::string::npos);
  EXPECT_TRUE(fs::exists(run.path() / folder / "two.h5"));
  const auto before = entries_before(run, two.file.path);
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0].file.checksum, two.file.checksum);
  EXPECT_TRUE(entries_before(run, "archive/three.h5").empty());
  amend(run, {}, before, new_set_aside(run) + "/manifest.json");
  EXPECT_EQ(read_manifest(run).size(), 2U);
  EXPECT_EQ(read_manifest(run)[1].file.path, one.file.path)
      << "the last file is the one that replaced shards";
}

TEST(Verify, WhatIsSetAsideNeverReplacesAnything) {
  const RunFolder run;
  put(run.path() / "shards" / "a.h5", "one");
  put(run.path() / "archive" / "a.h5", "two");
  fs::create_directories(run.path() / "set_aside/7");
  const std::string folder = new_set_aside(run);
  EXPECT_EQ(folder, "set_aside/8") << "numbers tell what came later";
  move_to(run, {"shards/a.h5", "archive/a.h5"}, folder);
  EXPECT_EQ(content(run.path() / folder / "a.h5"), "one");
  EXPECT_EQ(content(run.path() / folder / "a.h5.again"), "two");
}

/// From the files alone, but for one that is damaged; and of two that hold one step it names one.
TEST(Verify, ALostManifestIsWrittenAnew) {
  const RunFolder run;
  const auto archive = run.path() / "archive";
  for (std::uint64_t step : {1, 2, 3})
    pack(*comm::alone(), run, "step_" + std::to_string(step), {write(run, sample(1, step, 2))},
         identity());
  const std::string whole = archive_sha256(run), manifest = content(archive / "manifest.json");
  put(archive / "manifest.json", manifest.substr(0, 100));
  EXPECT_TRUE(
      rebuild_manifest(run, identity().seed, new_set_aside(run) + "/manifest.json").empty());
  EXPECT_EQ(archive_sha256(run), whole);
  EXPECT_EQ(content(run.path() / "set_aside/0/manifest.json"), manifest.substr(0, 100));
  fs::remove(archive / "manifest.json");
  fs::copy(archive / "step_1.h5", archive / "step_1_again.h5");
  RunIdentity stranger = identity();
  stranger.seed += 1;
  pack(*comm::alone(), run, "stranger", {write(run, sample(1, 9, 2))}, stranger);
  fs::remove(archive / "manifest.json");
  fs::resize_file(archive / "step_3.h5", fs::file_size(archive / "step_3.h5") / 2);
  const auto faults = rebuild_manifest(run, identity().seed, new_set_aside(run) + "/manifest.json");
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].file, "archive/step_3.h5");
  EXPECT_EQ(read_manifest(run).size(), 2U) << "step 1 once, step 2, and not the stranger";
  rebuild_manifest(run, std::nullopt, new_set_aside(run) + "/manifest.json");
  EXPECT_EQ(read_manifest(run).size(), 3U) << "whose seed is not known takes all";
}

}  // namespace
}  // namespace rollcall::io::test
