// Paths of the command line keep naming what they named where it was given.
#include "run/folder/start_directory.hpp"

#include "base/text/config.hpp"
#include "core/run_config.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

namespace fs = std::filesystem;

class Assignments : public ::testing::Test {
 protected:
  Assignments() {
    fs::create_directories(root / "here/runs");
    fs::create_directories(root / "there");
    root.write("here/grade", ""), root.write("here/table.txt", "");
  }
  /// The settings as a process in `there` reads them.
  RunConfig read(const std::vector<std::string>& assignments) const {
    RunConfig config;
    ConfigSchema schema = bind(config);
    for (const auto& assignment : assignments_from(assignments, here, there))
      schema.set(assignment);
    return config;
  }
  rollcall::testing::TemporaryFolder root;
  fs::path here = root / "here", there = root / "there";
};

TEST_F(Assignments, NameTheSameFilesFromElsewhere) {
  const auto config =
      read({"task.file=q.jsonl", " run.dir = runs/a", "sft.file=\"../there/e f.jsonl\"",
            "run.init_from=runs/b@4", "model.path=/models/x"});
  EXPECT_EQ(config.task.file, (here / "q.jsonl").string());
  EXPECT_EQ(config.run.dir, (here / "runs/a").string());
  EXPECT_EQ(config.sft.file, "e f.jsonl") << "as a setting of that run names it";
  EXPECT_EQ(config.run.init_from, (here / "runs/b@4").string());
  EXPECT_EQ(config.model.path, "/models/x");
}

TEST_F(Assignments, LeaveWhatNamesNoFile) {
  const std::vector<std::string> others{"train.steps=4",
                                        "text.template=model",
                                        "text.system=q.jsonl",
                                        "task.file=",
                                        "nonsense",
                                        "run.seed=x=y",
                                        "=",
                                        ""};
  const auto same = assignments_from(others, here, there);
  EXPECT_EQ(std::vector(same.begin(), same.begin() + 3),
            std::vector(others.begin(), others.begin() + 3));
  EXPECT_EQ(read({"task.file="}).task.file, "");
  EXPECT_EQ(std::vector(same.begin() + 4, same.end()),
            std::vector(others.begin() + 4, others.end()));
  EXPECT_EQ(read({"text.template=chat.jinja"}).text.chat_template, (here / "chat.jinja").string());
}

TEST_F(Assignments, TakeACommandWordByWord) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(read({R"(reward.command=["./grade", "table.txt", "other.txt", "-v"])"}).reward.command,
            (Words{(here / "grade").string(), (here / "table.txt").string(), "other.txt", "-v"}));
  EXPECT_EQ(read({R"(reward.command=["python3", "grade"])"}).reward.command,
            (Words{"python3", (here / "grade").string()}));
  there = here;
  EXPECT_EQ(read({R"(reward.command=["./grade", "table.txt"])"}).reward.command,
            (Words{"./grade", "table.txt"}));
}

TEST_F(Assignments, KnowEveryCommand) {
  RunConfig config;
  int commands = 0;
  for (const auto& key : bind(config).keys()) {
    if (!key.ends_with(".command")) continue;
    ++commands;
    EXPECT_EQ(assignments_from({key + R"(=["./grade"])"}, here, there).front(),
              key + "=[\"" + (here / "grade").string() + "\"]");
  }
  EXPECT_EQ(commands, 2);
}

/// A new key that names a file belongs into the table, too.
TEST_F(Assignments, KnowEveryKeyThatNamesAFile) {
  RunConfig config;
  for (const auto& key : bind(config).keys()) {
    const bool names_a_file = key.ends_with("file") || key.ends_with(".path") ||
                              key.ends_with(".model") || key.ends_with(".dir") ||
                              key.ends_with("_from") || key == "train.from_archive" ||
                              key == "text.template" || key == "environment.index";
    if (!names_a_file) continue;
    EXPECT_NE(assignments_from({key + "=a/b"}, here, there).front(), key + "=a/b") << key;
  }
}

}  // namespace
}  // namespace rollcall::run
