// The run folder: who may start in it again, with which settings, and what a reference to a checkpoint means.
#include "stages/run_folder.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "io/checkpoint.hpp"
#include "stages/failure.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace rollcall::stages {
namespace {
namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  Folder() {
    config.run.dir = (root / "run").string();
    make_folder(config.run.dir);
  }
  rollcall::testing::TemporaryFolder root;
  RunConfig config;
};

/// The message of the E that `f` throws; empty when it throws none.
template <class E>
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return {};
}

TEST_F(Folder, TakesASecondStartOnlyAsResume) {
  EXPECT_FALSE(open_run_folder(config, false));
  EXPECT_NE(refusal<EnvironmentError>([&] { open_run_folder(config, false); }).find("--resume"), std::string::npos);
  EXPECT_TRUE(open_run_folder(config, true));
}

TEST_F(Folder, ResumesWhereNothingWasStarted) { EXPECT_FALSE(open_run_folder(config, true)); }

TEST_F(Folder, RefusesSettingsThatChangeTheResultNamingTheKey) {
  open_run_folder(config, false);
  const auto names = [&](const std::string& key, const std::function<void(RunConfig&)>& change) {
    RunConfig changed = config;
    change(changed);
    EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find(key), std::string::npos) << key;
  };
  names("train.lr", [](RunConfig& c) { c.train.optimizer.lr *= 1.0000001; });
  names("sft.lr", [](RunConfig& c) { c.sft.optimizer.lr *= 2; });
  names("run.seed", [](RunConfig& c) { ++c.run.seed; });
  names("sampling.stop", [](RunConfig& c) { c.sampling.stop.emplace_back("\n"); });
  names("objective.knobs.clip_low", [](RunConfig& c) { c.objective.knobs.emplace_back("clip_low", "0.1"); });
  EXPECT_TRUE(open_run_folder(config, true)) << "a refused start must leave the folder as it was";
}

TEST_F(Folder, RefusesASettingThatIsNoLongerGiven) {
  config.objective.knobs.emplace_back("clip_low", "0.1");
  open_run_folder(config, false);
  config.objective.knobs.clear();
  EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(config, true); }).find("objective.knobs.clip_low"), std::string::npos);
}

TEST_F(Folder, ComparesWholeValuesWhateverTheyHold) {
  config.sampling.stop = {"a  # b = \"c\\"}, config.text.tokenizer = "byte";
  config.objective.knobs.emplace_back("odd = \"key  # of", "one  # two");
  open_run_folder(config, false);
  EXPECT_TRUE(open_run_folder(config, true));
  RunConfig changed = config;
  changed.sampling.stop = {"a  # b = \"d\\"};
  EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find("sampling.stop"), std::string::npos);
  changed = config, changed.objective.knobs.back().second = "one  # three";
  EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find("one  # three"), std::string::npos);
}

TEST_F(Folder, IsRefusedWhereNothingCanBeWritten) {
  write_file_atomic(root / "file", "");
  EXPECT_NE(refusal<EnvironmentError>([&] { make_run_folder(root / "file" / "run"); }).find("Not a directory"), std::string::npos);
  EXPECT_NE(refusal<EnvironmentError>([&] { make_run_folder("/proc/self"); }).find("run.dir"), std::string::npos);
}

TEST_F(Folder, LetsOneRankTellOfAFailure) {
  EXPECT_TRUE(is_first_failure(config.run.dir, "rank 1: the cause"));
  EXPECT_FALSE(is_first_failure(config.run.dir, "rank 0: the cause"));
  EXPECT_EQ(read_file(fs::path(config.run.dir) / "failure"), "rank 1: the cause");
  EXPECT_THROW(await_run_folder("/nowhere", 0.01), EnvironmentError) << "a folder that this node does not share";
  open_run_folder(config, false);
  EXPECT_TRUE(is_first_failure(config.run.dir, "another"));
}

TEST_F(Folder, LetsAResumedRunGoFurtherElsewhere) {
  open_run_folder(config, false);
  config.train.steps += 100, config.run.layout = "colocated", config.run.threads = 7, config.checkpoint.every = 3, config.archive.pack_every = 5;
  EXPECT_TRUE(open_run_folder(config, true));
  EXPECT_EQ(read_run_folder(config.run.dir).train.steps, config.train.steps);
}

TEST_F(Folder, ForgetsAnOldWishToStop) {
  write_file_atomic(fs::path(config.run.dir) / "stop", "");
  open_run_folder(config, false);
  EXPECT_FALSE(fs::exists(fs::path(config.run.dir) / "stop"));
}

TEST_F(Folder, IsNoneWithoutARunFile) {
  EXPECT_NE(refusal<InputError>([&] { read_run_folder(config.run.dir); }).find("config.toml"), std::string::npos);
}

TEST_F(Folder, FindsCheckpointsByStepAndName) {
  const fs::path run = config.run.dir;
  for (const char* name : {"sft_000002", "train_000004", "train_000008"}) io::write_checkpoint(run, {name, {{"config.json", "{}"}}});
  EXPECT_EQ(checkpoint_folder(run.string()), run / "checkpoints" / "train_000008");
  EXPECT_EQ(checkpoint_folder(run.string() + "@4"), run / "checkpoints" / "train_000004");
  EXPECT_EQ(checkpoint_folder(run.string() + "@sft_000002"), run / "checkpoints" / "sft_000002");
  for (const char* wanted : {"@5", "@train_000005", "@"}) {
    EXPECT_NE(refusal<InputError>([&] { checkpoint_folder(run.string() + wanted); }).find("no checkpoint"), std::string::npos) << wanted;
  }
}

TEST_F(Folder, TakesAtSignsInItsOwnName) {
  const fs::path run = root / "me@cluster";
  io::write_checkpoint(run, {"train_000004", {{"config.json", "{}"}}});
  EXPECT_EQ(checkpoint_folder(run.string()), run / "checkpoints" / "train_000004");
  EXPECT_EQ(checkpoint_folder(run.string() + "@4"), run / "checkpoints" / "train_000004");
}

TEST_F(Folder, RefusesWeightsThatTheRunDidNotWrite) {
  const fs::path run = config.run.dir, folder = run / "checkpoints" / "train_000004";
  io::write_checkpoint(run, {"train_000004", {{"config.json", "{}"}, {"model.safetensors", "weights"}}});
  const auto all_say = [&](const std::string& words) {
    for (const std::string& reference : {run.string(), run.string() + "@4", folder.string()}) {
      const std::string said = refusal<StorageError>([&] { checkpoint_folder(reference); });
      EXPECT_TRUE(words.empty() ? said.empty() : said.find(words) != std::string::npos) << reference << ": " << said;
    }
  };
  all_say("");
  for (const char* name : {"config.json", "model.safetensors"}) {
    const std::string whole = read_file(folder / name), path = (folder / name).string();
    std::string flipped = whole;
    flipped[1] = char(flipped[1] ^ 1);
    write_file_atomic(folder / name, flipped);
    all_say(path + ": its checksum is");
    write_file_atomic(folder / name, whole + "x");
    all_say(path + ": it has");
    write_file_atomic(folder / name, whole);
    all_say("");
  }
  fs::remove(folder / "model.safetensors");
  all_say("model.safetensors: the file is missing");
  io::write_checkpoint(run, {"train_000004", {{"config.json", "{}"}}});
  write_file_atomic(folder / "model.safetensors", "weights of another run");
  all_say("model.safetensors: the manifest does not name it");
}

TEST_F(Folder, TakesAModelFolderAsItIs) {
  write_file_atomic(fs::path(config.run.dir) / "config.json", "{}");
  EXPECT_EQ(checkpoint_folder(config.run.dir), config.run.dir);
}

TEST_F(Folder, RefusesAFolderWithoutWeights) {
  EXPECT_NE(refusal<InputError>([&] { checkpoint_folder(config.run.dir); }).find("no checkpoint"), std::string::npos);
  EXPECT_NE(refusal<InputError>([&] { checkpoint_folder((root / "nowhere").string()); }).find("nowhere"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::stages
