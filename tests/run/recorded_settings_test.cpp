// What a run folder records of its settings, and what a second start may make of it.
#include "run/folder/recorded_settings.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "core/run_record.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint_settings.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::run {
namespace {
namespace fs = std::filesystem;

class Recorded : public ::testing::Test {
 protected:
  Recorded() { config.run.dir = root.path().string(); }
  void save(const std::string& name) {
    io::end_checkpoint(root.path(), name, io::write_share(root.path(), name, {}),
                       settings_text(config));
  }
  std::string refusal() const {
    try {
      check_same_settings(config, "train_000002");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return {};
  }
  rollcall::testing::TemporaryFolder root;
  RunConfig config;
};

TEST_F(Recorded, TheCheckpointStandsAboveConfigToml) {
  EXPECT_FALSE(recorded_settings(root.path()).has_value());
  EXPECT_FALSE(holds_run(root.path()));
  config.run.seed = 1;
  save("train_000002");
  config.run.seed = 2;
  write_file_atomic(root / "config.toml", settings_text(config));
  EXPECT_TRUE(holds_run(root.path()));
  EXPECT_EQ(recorded_settings(root.path())->config.run.seed, 1);
  EXPECT_EQ(recorded_settings(root.path())->place, "checkpoint train_000002");
  const std::string said = refusal();
  for (const char* words :
       {"run.seed is 2", "was started with 1", "as checkpoint train_000002 records",
        "config.toml was edited since (run.seed)"})
    EXPECT_NE(said.find(words), std::string::npos) << said;
  config.run.seed = 1;
  EXPECT_EQ(refusal(), "");
}

TEST_F(Recorded, AnEarlierBuildsCheckpointLeavesItToConfigToml) {
  io::write_checkpoint(root.path(), {"train_000002", {{"config.json", "{}"}}});
  EXPECT_TRUE(holds_run(root.path()));
  EXPECT_FALSE(recorded_settings(root.path()).has_value());
  EXPECT_EQ(refusal(), "");
  write_file_atomic(root / "config.toml", settings_text(config));
  EXPECT_EQ(recorded_settings(root.path())->place, "config.toml");
  config.run.seed = 7;
  EXPECT_NE(refusal().find("run.seed is 7"), std::string::npos);
}

TEST_F(Recorded, WhatFilesDecideIsComparedOnceTheyAreRead) {
  config.text.tokenizer = "byte", config.text.chat_template = "none",
  config.task.answer_marker = "####", config.reward.verifier = "math";
  save("train_000002");
  const auto recorded = recorded_settings(root.path());
  ASSERT_TRUE(recorded.has_value());
  RunConfig open = config;
  open.text.tokenizer = open.text.chat_template = open.task.answer_marker = "auto";
  open.reward.verifier.clear();
  check_same_settings(with_recorded_texts(open, *recorded), *recorded);
  open.task.answer_marker = "";
  EXPECT_THROW(check_same_settings(with_recorded_texts(open, *recorded), *recorded), ConfigError);
}

TEST_F(Recorded, EveryRefusedKeyIsNamed) {
  save("train_000002");
  config.run.seed = 4, config.train.optimizer.lr = 0.5, config.sampling.stop = {"x"},
  config.train.steps += 1;
  const std::string said = refusal();
  for (const char* words :
       {"run.seed is 4", "train.lr is 0.5 and was", "sampling.stop is [\"x\"] and was []"})
    EXPECT_NE(said.find(words), std::string::npos) << said;
  EXPECT_EQ(said.find("train.steps"), std::string::npos) << said;
}

TEST_F(Recorded, AnEarlierBuildsPolicyGoesOnHearingTheVerifier) {
  const auto without = [&] {
    std::string text = settings_text(config);
    const auto line = text.find("\nhears = ");
    return text.erase(line, text.find('\n', line + 1) - line);
  };
  save("train_000001");
  EXPECT_EQ(as_begun(config, *recorded_settings(root.path())).scheduler.hears, "reward");
  io::end_checkpoint(root.path(), "train_000002", io::write_share(root.path(), "train_000002", {}),
                     without());
  const auto recorded = recorded_settings(root.path());
  EXPECT_EQ(recorded->config.scheduler.hears, "verifier");
  config = as_begun(config, *recorded);
  EXPECT_EQ(config.scheduler.hears, "verifier");
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(load_run_config(root.write("config.toml", without()), {}).scheduler.hears, "verifier")
      << "a run's own file";
  EXPECT_EQ(load_run_config(root.write("mine.toml", without()), {}).scheduler.hears, "reward")
      << "a person's";
}

TEST_F(Recorded, AnEarlierBuildsPermutationIsNotThisOnes) {
  config.task.shuffle_rewards = true;
  RecordedSettings recorded{"config.toml", config};
  EXPECT_NO_THROW(as_begun(config, recorded));
  recorded.precedes_hears = true;
  EXPECT_THROW(as_begun(config, recorded), ConfigError);
}

TEST_F(Recorded, WhatRowsDecideIsNoChange) {
  config.task.name = "file", config.task.answer_marker = "auto";
  config.task.file = root.write("rows.jsonl", R"({"question": "1+1", "answer": "2"})");
  const RunConfig asked = config;
  config.task.answer_marker = "", config.reward.verifier = "math";
  save("train_000002");
  config = asked;
  EXPECT_NE(refusal().find("reward.verifier"), std::string::npos);
  config = as_resolved(asked, *recorded_settings(root.path()));
  EXPECT_EQ(refusal(), "");
}

TEST_F(Recorded, AResumeKeepsTheRowsThatTheFirstStartKept) {
  config.task.name = "file", config.task.file = "rows.jsonl", config.task.validation_prompts = -1;
  const RunConfig asked = config;
  config.task.validation_prompts = 0;  // as a first start records it with eval.every = 0
  save("train_000002");
  config = asked;
  config.eval.every = 5;
  config = as_begun(config, *recorded_settings(root.path()));
  EXPECT_EQ(config.task.validation_prompts, 0);
  EXPECT_EQ(refusal(), "");
  config.task.validation_prompts = 3;
  EXPECT_NE(refusal().find("task.validation_prompts is 3"), std::string::npos);
}

TEST_F(Recorded, AnEarlierBuildsRowsStayWhereTheyWere) {
  config.task.name = "file", config.task.file = "rows.jsonl", config.task.validation_prompts = -1;
  const auto without = [&] {
    std::string text = settings_text(config);
    const auto line = text.find("\nsplit = ");
    return text.erase(line, text.find('\n', line + 1) - line);
  };
  EXPECT_EQ(read_settings(settings_text(config), "now").task.split, "exact");
  io::end_checkpoint(root.path(), "train_000002", io::write_share(root.path(), "train_000002", {}),
                     without());
  for (int start = 0; start < 2; ++start) {  // the second one finds what the first one has recorded
    RunConfig again = config;
    again.task.split = "exact", again.task.validation_prompts = -1;
    config = as_begun(again, *recorded_settings(root.path()));
    EXPECT_EQ(config.task.split, "by_row");
    EXPECT_EQ(config.task.validation_prompts, -1);
    EXPECT_EQ(refusal(), "");
    save("train_000002");
  }
  EXPECT_EQ(load_run_config(root.write("config.toml", without()), {}).task.split, "by_row")
      << "a run's own file";
  EXPECT_EQ(load_run_config(root.write("mine.toml", without()), {}).task.split, "exact")
      << "a person's";
}

/// The settings as a build before task.fields wrote them.
std::string before_fields(const RunConfig& config) {
  std::string text = settings_text(config);
  const auto cut = [&](const std::string& begin, const std::string& end) {
    const auto at = text.find(begin);
    text.erase(at, text.find(end, at + 1) - at);
  };
  cut("[task.fields]", "\n[");
  cut("on_bad_line = ", "\n"), cut("heldout_share = ", "\n");
  const auto section = text.find("[task]\n") + 7;
  return text.insert(section, "question_key = \"question\"\nanswer_key = \"answer\"\n");
}

TEST_F(Recorded, KeysThatAnEarlierBuildReadByDefaultAreNoChange) {
  config.task.name = "jsonl", config.task.file = "rows.jsonl";
  const std::string earlier = before_fields(config);
  io::end_checkpoint(root.path(), "train_000002", io::write_share(root.path(), "train_000002", {}),
                     earlier);
  config.task.name = "file";
  config = as_begun(config, *recorded_settings(root.path()));
  EXPECT_EQ(config.task.fields.prompt, "question") << "it is read as it was";
  EXPECT_EQ(refusal(), "");
  config.task.fields.answer = "other";
  EXPECT_NE(refusal().find("task.fields.answer is \"other\""), std::string::npos);
}

TEST_F(Recorded, KeysOfFilesAreNothingToATaskThatIsMade) {
  io::end_checkpoint(root.path(), "train_000002", io::write_share(root.path(), "train_000002", {}),
                     before_fields(config));
  config = as_begun(config, *recorded_settings(root.path()));
  EXPECT_EQ(config.task.fields.prompt, "");
  EXPECT_EQ(refusal(), "");
}

TEST_F(Recorded, AnotherProgramsFileIsNoRecord) {
  root.write("config.toml", "[server]\nport = 3\n");
  EXPECT_FALSE(holds_run(root.path()));
  EXPECT_EQ(why_no_record(root.path()),
            "its config.toml is not what a run writes, but another program's");
  EXPECT_EQ(why_no_record(root.path() / "config.toml"), "it is a file");
  EXPECT_EQ(why_no_record(root.path() / "none"), "there is no such folder");
  write_file_atomic(root / "config.toml", settings_text(config));
  EXPECT_TRUE(holds_record(root.path()));
  try {
    require_record(root.path() / "config.toml");
    ADD_FAILURE() << "a file is no run";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("name the folder: " + root.path().string()),
              std::string::npos)
        << error.what();
  }
}

TEST_F(Recorded, StepsAreNotUndone) {
  config.train.steps = 4;
  EXPECT_NO_THROW(check_steps(config, 4));
  EXPECT_THROW(check_steps(config, 5), ConfigError);
}

TEST_F(Recorded, ChangedKeysAreThoseOfWhichTheTextDiffers) {
  RunConfig other = config;
  EXPECT_TRUE(changed_keys(config, other).empty());
  other.run.dir = "elsewhere";
  EXPECT_TRUE(changed_keys(config, other).empty());
  other.objective.knobs.emplace_back("clip_low", "0.1");
  const auto changed = changed_keys(config, other);
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].key, "objective.knobs.clip_low");
  EXPECT_EQ(changed[0].before, "unset");
  EXPECT_EQ(changed[0].now, "\"0.1\"");
}

}  // namespace
}  // namespace rollcall::run
