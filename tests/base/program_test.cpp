// Where a command's program is looked for: as execvp() does, which starts it.
#include "base/process/program.hpp"

#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace rollcall {
namespace {

namespace fs = std::filesystem;
using rollcall::testing::TemporaryFolder;

/// The working directory and PATH of a test, which are the process's own again after it.
class Program : public ::testing::Test {
 protected:
  Program() {
    for (const char* name : {"first", "second"}) fs::create_directory(folder_.path() / name);
    fs::create_directory(folder_.path() / "first" / "tool");
    put("second/tool");
    fs::current_path(folder_.path());
  }
  ~Program() override {
    fs::current_path(before_);
    if (path_) ::setenv("PATH", path_->c_str(), 1);
    else ::unsetenv("PATH");
  }
  void put(const std::string& name) {
    fs::permissions(folder_.write(name, "#!/bin/sh\n"), fs::perms::owner_all);
  }
  static void look_in(const std::string& folders) { ::setenv("PATH", folders.c_str(), 1); }

  static std::optional<std::string> path_of_process() {
    const char* path = std::getenv("PATH");
    return path == nullptr ? std::nullopt : std::optional<std::string>(path);
  }

  TemporaryFolder folder_;
  fs::path before_ = fs::current_path();
  std::optional<std::string> path_ = path_of_process();
};

TEST_F(Program, AFolderOfTheNameIsNone) {
  look_in("first");
  EXPECT_FALSE(command_exists("tool"));
  look_in("first:second");
  EXPECT_EQ(program_file("tool"), fs::path("second/tool"));
}

TEST_F(Program, AnEmptyFolderOfPathIsTheWorkingDirectory) {
  put("here");
  for (const char* folders : {"", ":second", "second:", "second::first"}) {
    look_in(folders);
    EXPECT_TRUE(command_exists("here")) << '"' << folders << '"';
  }
  look_in("second");
  EXPECT_FALSE(command_exists("here"));
}

TEST_F(Program, WithoutPathThoseOfTheSystemAreThere) {
  ::unsetenv("PATH");
  EXPECT_TRUE(command_exists("sh"));
  EXPECT_FALSE(command_exists("tool"));
}

TEST_F(Program, ANameWithASlashIsAPath) {
  look_in("second");
  EXPECT_TRUE(can_be_started("./second/tool"));
  EXPECT_FALSE(can_be_started("./first/tool")) << "a folder";
  EXPECT_FALSE(can_be_started("./tool"));
  EXPECT_TRUE(program_file("").empty());
}

}  // namespace
}  // namespace rollcall
