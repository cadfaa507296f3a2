// The run folder: who may start in it again, with which settings, and what a reference to a
// checkpoint means.
#include "run/folder/run_folder.hpp"
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "io/checkpoint.hpp"
#include "model/config/adapter_config.hpp"
#include "support/temporary_folder.hpp"
#include "watch/failure.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace rollcall::run {
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
  EXPECT_NE(refusal<EnvironmentError>([&] { open_run_folder(config, false); }).find("--resume"),
            std::string::npos);
  EXPECT_TRUE(open_run_folder(config, true));
}

TEST_F(Folder, ResumesWhereNothingWasStarted) { EXPECT_FALSE(open_run_folder(config, true)); }

TEST_F(Folder, RefusesSettingsThatChangeTheResultNamingTheKey) {
  open_run_folder(config, false);
  const auto names = [&](const std::string& key, const std::function<void(RunConfig&)>& change) {
    RunConfig changed = config;
    change(changed);
    EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find(key),
              std::string::npos)
        << key;
  };
  names("train.lr", [](RunConfig& c) { c.train.optimizer.lr *= 1.0000001; });
  names("sft.lr", [](RunConfig& c) { c.sft.optimizer.lr *= 2; });
  names("run.seed", [](RunConfig& c) { ++c.run.seed; });
  names("sampling.stop", [](RunConfig& c) { c.sampling.stop.emplace_back("\n"); });
  names("objective.knobs.clip_low",
        [](RunConfig& c) { c.objective.knobs.emplace_back("clip_low", "0.1"); });
  EXPECT_TRUE(open_run_folder(config, true)) << "a refused start must leave the folder as it was";
}

TEST_F(Folder, TakesOtherNumericsWhereTheRunFileAllowsThem) {
  open_run_folder(config, false);
  config.run.numerics = "bf16_sliced8";
  const std::string refused = refusal<ConfigError>([&] { open_run_folder(config, true); });
  EXPECT_NE(refused.find(R"(run.numerics is "bf16_sliced8")"), std::string::npos) << refused;
  EXPECT_NE(refused.find("run.allow_numerics_change=true"), std::string::npos) << refused;
  config.run.allow_numerics_change = true;
  EXPECT_TRUE(open_run_folder(config, true));
  config.run.allow_numerics_change = false;
  EXPECT_TRUE(open_run_folder(config, true)) << "it need not be allowed again";
}

TEST_F(Folder, RefusesASettingThatIsNoLongerGiven) {
  config.objective.knobs.emplace_back("clip_low", "0.1");
  open_run_folder(config, false);
  config.objective.knobs.clear();
  EXPECT_NE(
      refusal<ConfigError>([&] { open_run_folder(config, true); }).find("objective.knobs.clip_low"),
      std::string::npos);
}

TEST_F(Folder, ComparesWholeValuesWhateverTheyHold) {
  config.sampling.stop = {"a  # b = \"c\\"}, config.text.tokenizer = "byte";
  config.objective.knobs.emplace_back("odd = \"key  # of", "one  # two");
  open_run_folder(config, false);
  EXPECT_TRUE(open_run_folder(config, true));
  RunConfig changed = config;
  changed.sampling.stop = {"a  # b = \"d\\"};
  EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find("sampling.stop"),
            std::string::npos);
  changed = config, changed.objective.knobs.back().second = "one  # three";
  EXPECT_NE(refusal<ConfigError>([&] { open_run_folder(changed, true); }).find("one  # three"),
            std::string::npos);
}

TEST_F(Folder, IsRefusedWhereNothingCanBeWritten) {
  write_file_atomic(root / "file", "");
  EXPECT_NE(refusal<EnvironmentError>([&] {
              make_run_folder(root / "file" / "run");
            }).find("Not a directory"),
            std::string::npos);
  EXPECT_NE(refusal<EnvironmentError>([&] { make_run_folder("/proc/self"); }).find("run.dir"),
            std::string::npos);
}

TEST_F(Folder, IsRefusedBeforeItIsMade) {
  write_file_atomic(root / "file", "");
  for (const fs::path& path : {root / "file" / "run", root / "file"})
    EXPECT_NE(refusal<EnvironmentError>([&] { require_place(path); }).find("Not a directory"),
              std::string::npos);
  EXPECT_NE(refusal<EnvironmentError>([&] {
              require_place(root / "file", JobKind::eval);
            }).find("choose another folder with --out"),
            std::string::npos);
  require_place(root / "new" / "run");
  EXPECT_FALSE(fs::exists(root / "new"));
  require_place(root.path());
}

TEST_F(Folder, LetsOneRankTellOfAFailure) {
  EXPECT_TRUE(watch::is_first_failure(config.run.dir, "rank 1: the cause"));
  EXPECT_FALSE(watch::is_first_failure(config.run.dir, "rank 0: the cause"));
  EXPECT_EQ(read_file(fs::path(config.run.dir) / "failure"), "rank 1: the cause");
  EXPECT_THROW(await_run_folder("/nowhere", 0.01), EnvironmentError)
      << "a folder that this node does not share";
  open_run_folder(config, false);
  EXPECT_TRUE(watch::is_first_failure(config.run.dir, "another"));
}

TEST_F(Folder, LetsAResumedRunGoFurtherElsewhere) {
  open_run_folder(config, false);
  config.train.steps += 100, config.run.layout = "colocated", config.run.threads = 7,
                             config.checkpoint.every = 3, config.archive.pack_every = 5;
  EXPECT_TRUE(open_run_folder(config, true));
  EXPECT_EQ(read_run_folder(config.run.dir).train.steps, config.train.steps);
}

TEST_F(Folder, ForgetsAnOldWishToStop) {
  write_file_atomic(fs::path(config.run.dir) / "stop", "");
  open_run_folder(config, false);
  EXPECT_FALSE(fs::exists(fs::path(config.run.dir) / "stop"));
}

TEST_F(Folder, IsNoneWithoutARunFile) {
  EXPECT_NE(refusal<InputError>([&] { read_run_folder(config.run.dir); }).find("config.toml"),
            std::string::npos);
}

TEST_F(Folder, FindsCheckpointsByStepAndName) {
  const fs::path run = config.run.dir;
  for (const char* name : {"sft_000002", "train_000004", "train_000008"})
    io::write_checkpoint(run, {name, {{"config.json", "{}"}}});
  EXPECT_EQ(checkpoint_folder(run.string()), run / "checkpoints" / "train_000008");
  EXPECT_EQ(checkpoint_folder(run.string() + "@4"), run / "checkpoints" / "train_000004");
  EXPECT_EQ(checkpoint_folder(run.string() + "@sft_000002"), run / "checkpoints" / "sft_000002");
  for (const char* wanted : {"@5", "@train_000005", "@"}) {
    EXPECT_NE(refusal<InputError>([&] {
                checkpoint_folder(run.string() + wanted);
              }).find("no checkpoint"),
              std::string::npos)
        << wanted;
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
  io::write_checkpoint(run,
                       {"train_000004", {{"config.json", "{}"}, {"model.safetensors", "weights"}}});
  const auto all_say = [&](const std::string& words) {
    for (const std::string& reference : {run.string(), run.string() + "@4", folder.string()}) {
      const std::string said = refusal<StorageError>([&] { checkpoint_folder(reference); });
      EXPECT_TRUE(words.empty() ? said.empty() : said.find(words) != std::string::npos)
          << reference << ": " << said;
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

constexpr const char* kTokenizer =
    R"({"version": "1.0", "added_tokens": [{"id": 2, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
    "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "vocab": {"a": 0, "b": 1}, "merges": []}})";
constexpr const char* kTemplate = "{% for m in messages %}{{ m.content }}<end>{% endfor %}";

/// Files of a model folder: name, content.
using Files = std::map<std::string, std::string>;

void write_all(const fs::path& folder, const Files& files) {
  make_folder(folder);
  for (const auto& [name, content] : files) write_file_atomic(folder / name, content);
}

Files files_of(const fs::path& folder) {
  Files files;
  for (const auto& entry : list_folder(folder))
    files[entry.path().filename().string()] = read_file(entry.path());
  return files;
}

TEST_F(Folder, KeepsTheTextFilesThatTheRunUses) {
  const fs::path model = root / "model", kept = fs::path(config.run.dir) / "tokenizer";
  const auto keep = [&](const Files& files, const std::string& chat_template) {
    fs::remove_all(model);
    write_all(model, files);
    config.model.path = model.string(), config.text.chat_template = chat_template;
    keep_text_files(text_source(config), text::PromptFormat(config.text, text_source(config)),
                    config.run.dir);
    open_run_folder(config, fs::exists(fs::path(config.run.dir) / "config.toml"));
  };
  const Files plain{{"tokenizer.json", kTokenizer},
                    {"generation_config.json", R"({"eos_token_id": 2})"},
                    {"chat_template.jinja", kTemplate}};
  keep(plain, "auto");
  EXPECT_EQ(files_of(kept), plain);
  EXPECT_TRUE(kept_settings(config.run.dir).empty());
  fs::remove(fs::path(config.run.dir) / "config.toml");
  // A start that ended before its first checkpoint, and another with an own template and end tokens
  // that only config.json names.
  const std::string own = root.write("own.jinja", std::string(kTemplate) + "!");
  keep({{"tokenizer.json", kTokenizer},
        {"config.json", R"({"eos_token_id": [2, 1]})"},
        {"chat_template.jinja", kTemplate}},
       own);
  EXPECT_EQ(read_file(kept / "chat_template.jinja"), read_file(own));
  EXPECT_EQ(text::read_text_files(kept).end_tokens, (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(kept_settings(config.run.dir),
            std::vector<std::string>{"text.template=" + (kept / "chat_template.jinja").string()});
  EXPECT_EQ(text_folder(config.run.dir), kept);
  fs::remove(fs::path(config.run.dir) / "config.toml");
  keep({}, "none");
  EXPECT_FALSE(fs::exists(kept)) << "a tokenizer that the run does not use";
}

TEST_F(Folder, AnAdapterStandsWhereAModelFolderMay) {
  const fs::path base = root / "base", adapter = root / "adapter";
  write_all(base, {{"config.json", "{}"}, {"tokenizer.json", kTokenizer}});
  write_all(adapter, {{"adapter_config.json",
                       model::to_adapter_config_json({{2, 4.0, false, {"q_proj"}}, base.string()})},
                      {"LICENSE", "free"}});
  EXPECT_EQ(checkpoint_folder(adapter.string()), adapter);
  EXPECT_EQ(checkpoint_folder(adapter.string() + "/"), adapter);
  EXPECT_EQ(text_folder(adapter.string()), base) << "it has no tokenizer of its own";
  write_all(adapter, {{"tokenizer.json", kTokenizer}});
  EXPECT_EQ(text_folder(adapter.string()), adapter);
  config.model.path = adapter.string();
  EXPECT_EQ(weights_source(config), adapter);
}

TEST_F(Folder, LeavesNoTextFilesOfAnotherModel) {
  const fs::path from = root / "from", to = root / "to";
  const Files one{
      {"tokenizer.json", kTokenizer}, {"merges.txt", "m"}, {"LICENSE", "free"}, {"README", "mine"}};
  write_all(to, one);
  write_all(from, {{"tokenizer.json", "{}"}, {"vocab.json", "{}"}, {"README", "theirs"}});
  copy_text_files(from, to);
  EXPECT_EQ(files_of(to), (Files{{"tokenizer.json", "{}"},
                                 {"vocab.json", "{}"},
                                 {"LICENSE", "free"},
                                 {"README", "mine"}}));
  copy_text_files({}, to);
  EXPECT_EQ(files_of(to), (Files{{"LICENSE", "free"}, {"README", "mine"}}));
}

TEST_F(Folder, NamesAModelFolderThatIsNotThere) {
  config.model.path = (root / "none").string();
  EXPECT_NE(
      refusal<InputError>([&] { text_source(config); }).find("model.path is " + config.model.path),
      std::string::npos);
  config.run.init_from = "nowhere@3";
  EXPECT_NE(refusal<InputError>([&] { text_source(config); }).find("run.init_from is nowhere@3"),
            std::string::npos);
}

TEST_F(Folder, TakesAModelFolderAsItIs) {
  write_file_atomic(fs::path(config.run.dir) / "config.json", "{}");
  EXPECT_EQ(checkpoint_folder(config.run.dir), config.run.dir);
}

TEST_F(Folder, RefusesAFolderWithoutWeights) {
  EXPECT_NE(refusal<InputError>([&] { checkpoint_folder(config.run.dir); }).find("no checkpoint"),
            std::string::npos);
  EXPECT_NE(
      refusal<InputError>([&] { checkpoint_folder((root / "nowhere").string()); }).find("nowhere"),
      std::string::npos);
}

}  // namespace
}  // namespace rollcall::run
