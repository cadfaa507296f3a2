// Checkpoints: complete or absent, newest first, damaged ones passed over with a word about it.
#include "io/checkpoint.hpp"

#include "base/error.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint(const std::string& name, const std::string& model = "weights") {
  return {name, {{"config.json", "{}"}, {"model.safetensors", model}, {"empty", ""}}};
}
fs::path file(const RunFolder& run, const std::string& name, const char* which) { return run.path() / "checkpoints" / name / which; }

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

TEST(Checkpoint, OrderIsThatOfWritingNotOfNames) {
  const RunFolder run;
  for (const char* name : {"train_000002", "sft_000050", "train_000001"}) write_checkpoint(run, checkpoint(name));
  EXPECT_EQ(list_checkpoints(run), (std::vector<std::string>{"train_000002", "sft_000050", "train_000001"}));
  write_checkpoint(run, checkpoint("train_000002", "again"));
  EXPECT_EQ(list_checkpoints(run), (std::vector<std::string>{"sft_000050", "train_000001", "train_000002"}));
  EXPECT_EQ(newest_checkpoint(run, nullptr)->files.at("model.safetensors"), "again");
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
  EXPECT_EQ(found->name, "a");
  const auto said = [&](const std::string& words) {
    return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) { return warning.find(words) != std::string::npos; });
  };
  EXPECT_EQ(warnings.size(), 4U);
  EXPECT_TRUE(said("e/model.safetensors: its checksum"));
  EXPECT_TRUE(said("d/model.safetensors: it has 5 bytes"));
  EXPECT_TRUE(said("c/config.json: the file is missing"));
  EXPECT_TRUE(said("b/manifest.json"));
}

TEST(Checkpoint, NoneAndAllCorruptAreDifferentThings) {
  const RunFolder run;
  EXPECT_FALSE(newest_checkpoint(run, nullptr).has_value());
  EXPECT_TRUE(list_checkpoints(run).empty());
  write_checkpoint(run, checkpoint("a"));
  fs::remove(file(run, "a", "manifest.json"));
  EXPECT_NE(fault_of([&] { newest_checkpoint(run, nullptr); }).find("none of the 1 checkpoints"), std::string::npos);
  EXPECT_NE(fault_of([&] { read_checkpoint(run, "b"); }).find("no such checkpoint"), std::string::npos);
}

TEST(Checkpoint, EveryTornOrForeignManifestIsRefused) {
  const RunFolder run;
  write_checkpoint(run, checkpoint("a"));
  const std::string good = content(file(run, "a", "manifest.json"));
  for (std::size_t size = 0; size + 2 < good.size(); ++size) {
    put(file(run, "a", "manifest.json"), good.substr(0, size));
    EXPECT_NE(fault_of([&] { read_checkpoint(run, "a"); }).find("a/manifest.json"), std::string::npos) << size;
  }
  const std::vector<std::pair<std::string, std::string>> foreign{
      {R"({"format": 2})", "format 2"},
      {R"({"format": 1, "sequence": 1, "files": {"../x": {"bytes": 0, "xxh3_64": "0000000000000000"}}})", "is not a file name"},
      {R"({"format": 1, "sequence": 1, "files": {"x": {"bytes": 0, "xxh3_64": "zz"}}})", "16 hex digits"},
      {"[]", "a/manifest.json"}};
  for (const auto& [text, words] : foreign) {
    put(file(run, "a", "manifest.json"), text);
    const std::string fault = fault_of([&] { read_checkpoint(run, "a"); });
    EXPECT_NE(fault.find(words), std::string::npos) << fault;
  }
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
  for (const char* name : {"", ".hidden", "a/b"}) EXPECT_THROW(write_checkpoint(run, checkpoint(name)), std::logic_error);
  EXPECT_THROW(write_checkpoint(run, {"a", {{"manifest.json", "{}"}}}), std::logic_error);
}

}  // namespace
}  // namespace rollcall::io::test
