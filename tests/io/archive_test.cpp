// Packing by one writer: content, canonical order, and what a crash at any point leaves.
#include "io/archive.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "base/time/clock.hpp"
#include "io/sample_run.hpp"
#include "io/source.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <thread>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

std::vector<PackInput> write_steps(const RunFolder& run, std::uint64_t seed, std::uint64_t first,
                                   std::uint64_t last, Purpose purpose = Purpose::train) {
  std::vector<PackInput> inputs;
  for (std::uint64_t step = first; step <= last; ++step)
    for (std::uint32_t producer : {1U, 2U}) {  // two rounds: the second holds fragments of the
                                               // first one's groups
      for (std::uint32_t round : {0U, 1U}) {
        const Sample s = sample(seed, step, 3, round, producer, purpose);
        inputs.push_back(producer == 1 ? write(run, s) : write_in_one(run, s));
      }
    }
  return inputs;
}

ArchiveEntry pack_alone(const RunFolder& run, const std::string& name,
                        const std::vector<PackInput>& inputs) {
  return pack(*comm::alone(), run, name, inputs, identity());
}

std::size_t files_in(const fs::path& folder) {
  return fs::exists(folder) ? std::size_t(std::distance(fs::directory_iterator(folder), {})) : 0;
}

TEST(Archive, HoldsTheShardsInCanonicalOrder) {
  const RunFolder run;
  const ArchiveEntry entry = pack_alone(run, "train", write_steps(run, 1, 3, 4));
  std::vector<std::string> names;
  const auto groups = read_archive(run, entry, &names);
  EXPECT_EQ(names, (std::vector<std::string>{"correct", "größe"}));
  EXPECT_EQ(groups.size(), 12U);  // 2 steps, 2 producers, 3 groups each, rounds joined
  EXPECT_EQ(entry.groups, groups.size());
  EXPECT_EQ(std::pair(entry.first_step, entry.last_step),
            (std::pair<std::uint64_t, std::uint64_t>(3, 4)));
  EXPECT_TRUE(std::is_sorted(groups.begin(), groups.end(),
                             [](const auto& a, const auto& b) { return a.group.id < b.group.id; }));
  const Sample round0 = sample(1, 3, 3, 0, 2), round1 = sample(1, 3, 3, 1, 2);
  for (const ArchivedGroup& g : groups) {
    EXPECT_EQ(g.scores.size(), g.group.rollouts.size());
    EXPECT_EQ(g.temperature, 0.75F);
    if (g.group.id != round0.shard.groups[1].id) continue;
    const std::size_t first = round0.shard.groups[1].rollouts.size();
    ASSERT_EQ(g.group.rollouts.size(), first + round1.shard.groups[1].rollouts.size());
    EXPECT_TRUE(same(g.prompt, round0.prompts[1]));
    for (std::size_t i = 0; i < first; ++i) {  // samples were written in descending order
      EXPECT_TRUE(same(g.group.rollouts[i], round0.shard.groups[1].rollouts[first - 1 - i]));
      EXPECT_TRUE(same(g.scores[i], round0.scores.scores[1][first - 1 - i]));
    }
  }
  EXPECT_EQ(files_in(run.path() / "shards"), 0U);
}

TEST(Archive, NamesTheModelThatJudged) {
  RunIdentity judged = identity();
  judged.judge = R"({"model":"übung","votes":3})";
  for (const RunIdentity& who : {identity(), judged}) {
    const RunFolder run;
    const PackInput input = who.judge.empty() ? write(run, sample(1, 3, 2), who)
                                              : write_in_one(run, sample(1, 3, 2), who);
    EXPECT_EQ(identity_of(run, input.shard).judge, who.judge);
    EXPECT_EQ(identity_of(run, input.scores).judge, who.judge);
    EXPECT_EQ(identity_of(run, pack(*comm::alone(), run, "train", {input}, who).file).judge,
              who.judge);
  }
}

TEST(Archive, ContentHashKnowsNoFilesButEveryValue) {
  for (const std::uint64_t seed : {1, 2}) {
    const RunFolder loose, packed, cut;
    write_steps(loose, seed, 1, 3);
    write_steps(loose, seed, 2, 2, Purpose::eval);
    pack_alone(packed, "all", write_steps(packed, seed, 1, 3));
    pack_alone(packed, "eval", write_steps(packed, seed, 2, 2, Purpose::eval));
    write_steps(cut, seed, 2, 2, Purpose::eval);
    pack_alone(cut, "late", write_steps(cut, seed, 3, 3));
    pack_alone(cut, "early", write_steps(cut, seed, 1, 2));
    const std::string hash = archive_sha256(loose);
    EXPECT_EQ(hash.size(), 64U);
    EXPECT_EQ(archive_sha256(packed), hash);
    EXPECT_EQ(archive_sha256(cut), hash);
    const RunFolder other;
    write_steps(other, seed, 1, 2);
    write_steps(other, seed, 2, 2, Purpose::eval);
    Sample changed = sample(seed, 3, 3, 0, 1);
    for (std::uint32_t round : {0U, 1U})
      for (std::uint32_t producer : {1U, 2U})
        if (round + producer > 1) write(other, sample(seed, 3, 3, round, producer));
    changed.scores.scores[2].back().correct ^= true;
    write(other, changed);
    EXPECT_NE(archive_sha256(other), hash);
  }
}

TEST(Archive, PackedBytesDependOnContentOnly) {
  const RunFolder a, b;
  auto inputs = write_steps(b, 1, 1, 2);
  std::reverse(inputs.begin(), inputs.end());
  const ArchiveEntry one = pack_alone(a, "x", write_steps(a, 1, 1, 2)),
                     two = pack_alone(b, "x", inputs);
  EXPECT_EQ(one.file.checksum, two.file.checksum);
}

TEST(Archive, ThreadsPackThroughRankZero) {
  const RunFolder alone, threads;
  const ArchiveEntry wanted = pack_alone(alone, "x", write_steps(alone, 1, 1, 2));
  const auto inputs = write_steps(threads, 1, 1, 2);
  comm::run_as_threads(3, [&](comm::Communicator& world) {
    const ArchiveEntry entry = pack(world, threads, "x", inputs, identity());
    EXPECT_EQ(entry.file.checksum, wanted.file.checksum);
  });
}

/// Who packs alone has made all files: none of them can show late.
TEST(Archive, AShardThatIsLostIsToldAtOnce) {
  const RunFolder run;
  const auto inputs = write_steps(run, 1, 1, 2);
  fs::remove(run.path() / inputs[3].shard.path);
  const Stopwatch clock;
  const std::string fault = fault_of([&] { pack_alone(run, "x", inputs); });
  EXPECT_NE(fault.find(inputs[3].shard.path), std::string::npos) << fault;
  EXPECT_LT(clock.seconds(), kLateName_s / 4);
}

/// A manifest that cannot be read is one that has not come yet, until the time is over.
TEST(Archive, APackedFileIsAwaitedUntilTheManifestNamesIt) {
  const RunFolder run;
  EXPECT_NE(fault_of([&] { await_packed(run, "x", 0.01); }).find("x.h5 cannot be seen here"),
            std::string::npos);
  pack_alone(run, "x", write_steps(run, 1, 1, 2));
  EXPECT_EQ(fault_of([&] { await_packed(run, "x", 0.0); }), "");
  EXPECT_NE(fault_of([&] { await_packed(run, "y", 0.01); }), "");
  const fs::path manifest = run.path() / "archive" / "manifest.json";
  const std::string whole = read_file(manifest);
  put(manifest, whole.substr(0, whole.size() / 2));
  EXPECT_NE(fault_of([&] { await_packed(run, "x", 0.01); }).find("manifest.json"),
            std::string::npos);
  const std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    write_file_atomic(manifest, whole);
  });
  EXPECT_EQ(fault_of([&] { await_packed(run, "x"); }), "");
}

/// The manifest names the archive file, its shards were not removed yet: they go when the file is
/// seen whole, and stay while it is not.
TEST(Archive, ShardsOfADamagedFileAreTheOnlyCopy) {
  const RunFolder run;
  const auto inputs = write_steps(run, 1, 1, 2);
  const auto shard = run.path() / inputs[0].shard.path;
  const std::string bytes = read_file(shard);
  const auto packed = run.path() / pack_alone(run, "x", inputs).file.path;
  put(shard, bytes);
  fs::rename(packed, packed.string() + ".away");
  EXPECT_THROW(set_aside_unfinished(run, {}), StorageError);
  EXPECT_EQ(read_file(shard), bytes);
  fs::rename(packed.string() + ".away", packed);
  set_aside_unfinished(run, {});
  EXPECT_FALSE(fs::exists(shard));
}

TEST(Archive, CrashBeforeTheManifestLosesNothing) {
  const RunFolder run;
  const auto inputs = write_steps(run, 1, 1, 2);
  const std::string hash = archive_sha256(run);
  put(run.path() / "archive" / "x.h5", "published, never listed");
  put(run.path() / "archive" / "x.h5.partial", "half");
  put(run.path() / "shards" / "train-000003-00-0001.h5.partial", "half");
  EXPECT_EQ(archive_sha256(run), hash);
  pack_alone(run, "x", inputs);
  EXPECT_EQ(archive_sha256(run), hash);
  EXPECT_EQ(read_manifest(run).size(), 1U);
}

TEST(Archive, CrashBeforeTheShardsAreRemovedIsTidiedUp) {
  const RunFolder run, before;
  const auto inputs = write_steps(run, 1, 1, 2);
  fs::copy(run.path() / "shards", before.path() / "shards");
  const ArchiveEntry entry = pack_alone(run, "x", inputs);
  const std::string hash = archive_sha256(run);
  const auto crash = [&] {
    fs::copy(before.path() / "shards", run.path() / "shards", fs::copy_options::recursive);
  };
  crash();
  EXPECT_EQ(files_in(run.path() / "shards"), 3 * inputs.size() / 2)
      << "half of them have their scores beside them";
  EXPECT_EQ(archive_sha256(run), hash) << "packed shards do not count twice";
  EXPECT_EQ(set_aside_unfinished(run, {}), 0);
  EXPECT_EQ(files_in(run.path() / "shards"), 0U);
  crash();
  EXPECT_EQ(pack_alone(run, "x", inputs).file.checksum, entry.file.checksum)
      << "the same call again finds it done";
  EXPECT_EQ(read_manifest(run).size(), 1U);
  EXPECT_EQ(files_in(run.path() / "shards"), 0U);
  EXPECT_NE(fault_of([&] { pack_alone(run, "x", write_steps(run, 2, 1, 2)); }).find("already"),
            std::string::npos);
}

TEST(Archive, UnfinishedStepsAreSetAside) {
  const RunFolder run;
  const PackInput kept = write(run, sample(1, 1, 3)), redrawn = write(run, sample(1, 2, 3));
  put(run.path() / "shards" / "train-000003-00-0001.h5.partial", "half");
  put(run.path() / "archive" / "lost.h5", "published, never listed");
  Removed removed;
  EXPECT_EQ(set_aside_unfinished(run, {kept.shard, kept.scores}, &removed), 3);
  EXPECT_EQ(removed.files, 1U) << "the partial one";
  EXPECT_EQ(removed.bytes, 4U);
  EXPECT_EQ(files_in(run.path() / "shards"), 2U);
  EXPECT_EQ(files_in(run.path() / "set_aside" / "0"), 3U);
  EXPECT_EQ(content(run.path() / "set_aside" / "0" / "lost.h5"), "published, never listed");
  EXPECT_TRUE(fs::exists(run.path() / "set_aside" / "0" / fs::path(redrawn.shard.path).filename()));
  write(run, sample(1, 2, 3));
  EXPECT_EQ(set_aside_unfinished(run, {kept.shard, kept.scores}), 2);
  EXPECT_EQ(files_in(run.path() / "set_aside" / "1"), 2U);
  EXPECT_EQ(set_aside_unfinished(run, {kept.shard, kept.scores}), 0);
}

TEST(Archive, ContradictionsStopThePack) {
  const RunFolder run;
  Sample twice = sample(1, 1, 2, 0, 1), again = twice;
  again.shard.producer = again.scores.producer = 2;  // the same samples from another producer
  const std::vector<PackInput> inputs{write(run, twice), write(run, again)};
  EXPECT_NE(fault_of([&] { pack_alone(run, "x", inputs); }).find("twice"), std::string::npos);
  again.shard.round = again.scores.round = 1;
  for (ShardPrompt& prompt : again.prompts) prompt.text += "!";
  EXPECT_NE(fault_of([&] {
              pack_alone(run, "x", {inputs[0], write(run, again)});
            }).find("differ"),
            std::string::npos);
  const PackInput other = write(run, sample(1, 2, 2));
  EXPECT_NE(fault_of([&] {
              pack_alone(run, "x", {{other.shard, inputs[0].scores}});
            }).find("does not belong"),
            std::string::npos);
  const PackInput eval = write(run, sample(1, 1, 2, 0, 1, Purpose::eval));
  EXPECT_NE(fault_of([&] {
              pack_alone(run, "x", {other, eval});
            }).find("several purposes"),
            std::string::npos);
  EXPECT_EQ(files_in(run.path() / "archive"), 0U);
  pack_alone(run, "x", {write(run, sample(1, 5, 2))});
  const std::vector<PackInput> around{write(run, sample(1, 4, 2)), write(run, sample(1, 6, 2))};
  EXPECT_NE(fault_of([&] { pack_alone(run, "y", around); }).find("x.h5 holds steps between"),
            std::string::npos);
}

TEST(Archive, DamageIsRefused) {
  const RunFolder run;
  const ArchiveEntry entry = pack_alone(run, "x", write_steps(run, 1, 1, 1));
  const std::string good = content(run.path() / entry.file.path);
  for (std::size_t at = 0; at < good.size(); at += 997) {
    std::string bad = good;
    bad[at] = char(bad[at] ^ 16);
    put(run.path() / entry.file.path, bad);
    ASSERT_NE(fault_of([&] { read_archive(run, entry); }).find("archive/x.h5: its checksum"),
              std::string::npos);
  }
  put(run.path() / entry.file.path, good);
  ArchiveEntry wrong = entry;
  wrong.tokens += 1;
  EXPECT_NE(fault_of([&] { read_archive(run, wrong); }).find("differ from the manifest"),
            std::string::npos);
}

/// A later program's manifest is not damage, and nobody is told to mend it.
TEST(Archive, ANewerManifestIsAnotherProgramsBusiness) {
  const RunFolder run;
  pack_alone(run, "x", write_steps(run, 1, 1, 1));
  const fs::path path = run.path() / "archive" / "manifest.json";
  auto manifest = nlohmann::json::parse(content(path));
  manifest["format"] = 99;
  put(path, manifest.dump(1) + "\n");
  EXPECT_THROW(read_manifest(run), StorageError) << "its checksum does not fit";
  manifest.erase("xxh3_64");
  manifest["xxh3_64"] = hex64(checksum64(manifest.dump()));
  put(path, manifest.dump(1) + "\n");
  EXPECT_THROW(read_manifest(run), EnvironmentError);
}

TEST(Archive, ManifestsAreReadWholeOrRefused) {
  const RunFolder run;
  pack_alone(run, "x", write_steps(run, 1, 1, 1));
  const fs::path path = run.path() / "archive" / "manifest.json";
  const std::string good = content(path);
  for (std::size_t size = 0; size + 2 < good.size(); size += 7) {
    put(path, good.substr(0, size));
    EXPECT_NE(fault_of([&] { read_manifest(run); }).find("manifest.json"), std::string::npos)
        << size;
  }
  EXPECT_TRUE(rc::check([&] {  // any bytes: an answer or a StorageError
    std::string bad = good;
    for (int flips = *rc::gen::inRange(1, 4); flips > 0; --flips)
      bad[*rc::gen::inRange<std::size_t>(0, bad.size())] = *rc::gen::arbitrary<char>();
    put(path, bad);
    fault_of([&] { read_manifest(run); });
  }));
}

}  // namespace
}  // namespace rollcall::io::test
