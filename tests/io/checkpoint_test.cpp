// Checkpoints: complete or absent, newest first, damaged ones passed over with a word about it.
#include "io/checkpoint.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/text/json.hpp"
#include "io/checkpoint_settings.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <thread>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint(const std::string& name, const std::string& model = "weights") {
  return {name, {{"config.json", "{}"}, {"model.safetensors", model}, {"empty", ""}}};
}
fs::path file(const RunFolder& run, const std::string& name, const char* which) {
  return run.path() / "checkpoints" / name / which;
}

TEST(Checkpoint, ReadsWhatWasWritten) {
  const RunFolder run;
  EXPECT_TRUE(rc::check([&](std::map<std::uint8_t, std::string> blobs) {
    Checkpoint c{.name = "train_000120", .files = {}};
    for (const auto& [number, bytes] : blobs) c.files["blob" + std::to_string(number)] = bytes;
    write_checkpoint(run, c);  // replaces the one before
    RC_ASSERT(read_checkpoint(run, c.name).files == c.files);
    RC_ASSERT(list_checkpoints(run) == std::vector<std::string>{c.name});
  }));
}

TEST(Checkpoint, ItsManifestHoldsTheSettings) {
  const RunFolder run;
  const std::string settings = "[run]\nseed = 1  # \"\xC3\xA9\"\n";
  write_checkpoint(run, checkpoint("earlier"));
  end_checkpoint(run, "a", write_share(run, "a", {}), settings);
  EXPECT_EQ(settings_of_checkpoint(run.path() / "checkpoints/a"), settings);
  EXPECT_EQ(settings_of_checkpoint(run.path() / "checkpoints/earlier"), "")
      << "an earlier build's has none, and is read";
  std::string manifest = content(file(run, "a", "manifest.json"));
  put(file(run, "a", "manifest.json"), manifest.replace(manifest.find("seed = 1"), 8, "seed = 2"));
  EXPECT_THROW(settings_of_checkpoint(run.path() / "checkpoints/a"), StorageError)
      << "an edited text is noticed";
}

TEST(Checkpoint, OrderIsThatOfWritingNotOfNames) {
  const RunFolder run;
  for (const char* name : {"train_000002", "sft_000050", "train_000001"})
    write_checkpoint(run, checkpoint(name));
  EXPECT_EQ(list_checkpoints(run),
            (std::vector<std::string>{"train_000002", "sft_000050", "train_000001"}));
  write_checkpoint(run, checkpoint("train_000002", "again"));
  EXPECT_EQ(list_checkpoints(run),
            (std::vector<std::string>{"sft_000050", "train_000001", "train_000002"}));
  EXPECT_EQ(newest_checkpoint(run, nullptr)->read("model.safetensors"), "again");
}

TEST(Checkpoint, CorruptNewestFallsBackWithAWarning) {
  const RunFolder run;
  for (const char* name : {"a", "b", "c", "d", "e"}) write_checkpoint(run, checkpoint(name));
  put(file(run, "e", "model.safetensors"), "weightz");
  put(file(run, "d", "model.safetensors"), "short");
  fs::remove(file(run, "c", "config.json"));
  const std::string manifest = content(file(run, "b", "manifest.json"));
  put(file(run, "b", "manifest.json"), manifest.substr(0, manifest.size() / 2));
  std::vector<std::string> warnings;
  const auto found = newest_checkpoint(run, &warnings);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->name(), "a");
  const auto said = [&](const std::string& words) {
    return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) {
      return warning.find(words) != std::string::npos;
    });
  };
  EXPECT_EQ(warnings.size(), 4U);
  EXPECT_TRUE(said("e/model.safetensors: its checksum"));
  EXPECT_TRUE(said("d/model.safetensors: it has 5 bytes"));
  EXPECT_TRUE(said("c/config.json: the file is missing"));
  EXPECT_TRUE(said("b/manifest.json"));
}

TEST(Checkpoint, AnySingleFaultOfTheNewestFallsBackAndNamesTheFile) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("older", "weights of before"));
  const auto newest = [&] { write_checkpoint(run, checkpoint("newest", "weights of now")); };
  const auto falls_back = [&](const char* which, const char* how) {
    std::vector<std::string> warnings;
    const auto found = newest_checkpoint(run, &warnings);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->name(), "older") << which << " " << how;
    ASSERT_EQ(warnings.size(), 1U) << which << " " << how;
    EXPECT_NE(warnings[0].find(std::string("newest/") + which), std::string::npos) << warnings[0];
  };
  for (const char* which : {"model.safetensors", "config.json", "manifest.json"}) {
    newest();
    const fs::path path = file(run, "newest", which);
    const std::string good = content(path);
    for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 9) {
      std::string bad = good;
      bad[at] = char(bad[at] ^ 0x10);
      put(path, bad);
      falls_back(which, "with a flipped bit");
    }
    put(path, good.substr(0, good.size() / 2));
    falls_back(which, "truncated");
    put(path, good + "}");
    falls_back(which, "with a byte too many");
    fs::remove(path);
    falls_back(which, "missing");
  }
  newest();
  put(file(run, "newest", "empty"), "x");
  falls_back("empty", "no longer empty");
  newest();
  EXPECT_EQ(newest_checkpoint(run, nullptr)->name(), "newest");
}

TEST(Checkpoint, IsMadeOfTheSharesOfItsWriters) {
  const RunFolder run;
  CheckpointFacts all;
  for (const std::string writer : {"0", "1", "2"}) {
    CheckpointShare share{.files = {}, .earlier = {}, .unchanged = {}};
    share.files["part" + writer] = [writer] { return "of " + writer; };
    all.merge(write_share(run, "a", share));
    EXPECT_TRUE(list_checkpoints(run).empty()) << "shown before it is whole";
  }
  end_checkpoint(run, "a", all);
  EXPECT_EQ(read_checkpoint(run, "a").files,
            (std::map<std::string, std::string>{
                {"part0", "of 0"}, {"part1", "of 1"}, {"part2", "of 2"}}));
}

TEST(Checkpoint, UnchangedFilesAreLinkedAndOutliveTheirFirstCheckpoint) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("a", "large and constant"));
  CheckpointShare share{.files = {}, .earlier = "a", .unchanged = {"model.safetensors"}};
  share.files["config.json"] = [] { return std::string("{1}"); };
  end_checkpoint(run, "b", write_share(run, "b", share));
  EXPECT_EQ(fs::hard_link_count(file(run, "b", "model.safetensors")), 2U);
  prune_checkpoints(run, 1, {});
  EXPECT_EQ(read_checkpoint(run, "b").files.at("model.safetensors"), "large and constant");
  share.earlier = "b", share.unchanged = {"nothing.known"};
  EXPECT_NE(fault_of([&] {
              write_share(run, "c", share);
            }).find("b/manifest.json: it does not name nothing.known"),
            std::string::npos);
}

TEST(Checkpoint, OneThatStoodAsideForAReplacementComesBack) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("a", "old"));
  const fs::path folder = run.path() / "checkpoints";
  fs::rename(folder / "a", folder / ".replaced-a");  // a crash before the new one took its place,
                                                     // where folders cannot be exchanged
  EXPECT_EQ(newest_checkpoint(run, nullptr)->read("model.safetensors"), "old");
  write_checkpoint(run, checkpoint("b"));
  fs::rename(folder / "b", folder / ".replaced-a");  // a crash after it: the leftover goes
  EXPECT_EQ(newest_checkpoint(run, nullptr)->name(), "a");
  const Removed removed = remove_leftovers(run);
  EXPECT_EQ(removed.files, 4U) << "three and the manifest";
  EXPECT_GT(removed.bytes, std::string("{}weights").size());
  EXPECT_FALSE(fs::exists(folder / ".replaced-a"));
  EXPECT_EQ(remove_leftovers(run).files, 0U);
}

TEST(Checkpoint, OneThatAnotherRankEndsIsWaitedFor) {
  const RunFolder run;
  EXPECT_NE(fault_of([&] {
              await_checkpoint(run, "a", 0.01);
            }).find("a/manifest.json cannot be seen here"),
            std::string::npos);
  const std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    write_checkpoint(run, checkpoint("a"));
  });
  EXPECT_EQ(fault_of([&] { await_checkpoint(run, "a"); }), "");
  EXPECT_EQ(read_checkpoint(run, "a").files.size(), 3U);
}

TEST(Checkpoint, NoneAndAllCorruptAreDifferentThings) {
  const RunFolder run;
  EXPECT_FALSE(newest_checkpoint(run, nullptr).has_value());
  EXPECT_TRUE(list_checkpoints(run).empty());
  write_checkpoint(run, checkpoint("a"));
  fs::remove(file(run, "a", "manifest.json"));
  EXPECT_NE(fault_of([&] { newest_checkpoint(run, nullptr); }).find("none of the 1 checkpoints"),
            std::string::npos);
  EXPECT_NE(fault_of([&] { read_checkpoint(run, "b"); }).find("no such checkpoint"),
            std::string::npos);
}

TEST(Checkpoint, EveryTornOrForeignManifestIsRefused) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("a"));
  const std::string good = content(file(run, "a", "manifest.json"));
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    put(file(run, "a", "manifest.json"), good.substr(0, size));
    EXPECT_NE(fault_of([&] { read_checkpoint(run, "a"); }).find("a/manifest.json"),
              std::string::npos)
        << size;
  }
  const auto sealed = [](const std::string& text) {
    auto json = nlohmann::json::parse(text);
    json["xxh3_64"] = hex64(checksum64(json.dump()));
    return json.dump();
  };
  const std::vector<std::pair<std::string, std::string>> foreign{
      {R"({"format": 2, "xxh3_64": "0000000000000000"})", "its checksum is"},
      {sealed(
           R"({"format": 1, "sequence": 1, "files": {"../x": {"bytes": 0, "xxh3_64": "0000000000000000"}}})"),
       "is not a file name"},
      {sealed(R"({"format": 1, "sequence": 1, "files": {"x": {"bytes": 0, "xxh3_64": "zz"}}})"),
       "16 hex digits"},
      {"[]", "a/manifest.json"}};
  for (const auto& [text, words] : foreign) {
    put(file(run, "a", "manifest.json"), text);
    const std::string fault = fault_of([&] { read_checkpoint(run, "a"); });
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
}

/// Not damaged, so nobody is told to set it aside.
TEST(Checkpoint, AnotherVersionsIsNoDamage) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("a"));
  nlohmann::json later{{"format", 99}, {"what", "nobody knows yet"}};
  later["xxh3_64"] = hex64(checksum64(later.dump()));
  put(file(run, "a", "manifest.json"), later.dump());
  EXPECT_THROW(list_checkpoints(run), EnvironmentError);
  EXPECT_THROW(newest_checkpoint(run, nullptr), EnvironmentError);
  std::vector<std::string> faults;
  EXPECT_TRUE(list_checkpoints(run, &faults).empty());
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults.front().find("format 99"), std::string::npos) << faults.front();
  write_checkpoint(run, checkpoint("b"));
  EXPECT_EQ(list_checkpoints(run, &faults), std::vector<std::string>{"b"})
      << "a run goes on beside it";
}

TEST(Checkpoint, PruneKeepsTheNewestTheNamedAndNoLeftovers) {
  const RunFolder run;
  for (const char* name : {"a", "b", "c", "d"}) write_checkpoint(run, checkpoint(name));
  put(run.path() / "checkpoints" / ".partial-x" / "model.safetensors", "half");
  put(run.path() / "checkpoints" / ".removed-y" / "model.safetensors", "half");
  EXPECT_EQ(list_checkpoints(run).size(), 4U) << "leftovers are not checkpoints";
  prune_checkpoints(run, 2, {"a"});
  EXPECT_EQ(list_checkpoints(run), (std::vector<std::string>{"a", "c", "d"}));
  EXPECT_EQ(std::distance(fs::directory_iterator(run.path() / "checkpoints"), {}), 3);
  prune_checkpoints(run, 0, {});
  EXPECT_TRUE(list_checkpoints(run).empty());
}

TEST(Checkpoint, NamesThatAreNotPlainAreBugs) {
  const RunFolder run;
  for (const char* name : {"", ".hidden", "a/b"})
    EXPECT_THROW(write_checkpoint(run, checkpoint(name)), std::logic_error);
  EXPECT_THROW(write_checkpoint(run, {"a", {{"manifest.json", "{}"}}}), std::logic_error);
}

}  // namespace
}  // namespace rollcall::io::test
