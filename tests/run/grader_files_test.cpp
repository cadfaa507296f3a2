// Which files a grader and a submitted job consist of, and how a change of one is told.
#include "run/folder/grader_files.hpp"

#include "run/folder/submitted_files.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rollcall::run {
namespace {

using rollcall::testing::TemporaryFolder;

TEST(GraderFiles, AFunctionIsAPartOfItsFileAndOfWhatThatImports) {
  const TemporaryFolder folder;
  const std::string file =
                        folder.write("rw.py", "import json, helper\nfrom deep import x, other\n"),
                    helper = folder.write("helper.py", "W = 0\nfrom rw import y\n"),
                    deep = folder.write("deep.py", "  import last as l  # not beside\n"),
                    last = folder.write("last.py", "");
  folder.write("other.py", "");  // a name of deep, no module
  folder.write("x.py", "");
  const std::vector<std::string> command{"/bin/sh", file + ":compute", "--chat", file};
  const auto before = find_grader_files(command);
  ASSERT_EQ(before.size(), 5U);
  const std::string wanted[] = {"/bin/sh", file, helper, deep, last};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(before[i].path, wanted[i]);
  EXPECT_EQ(changes_of(before, find_grader_files(command)), "");
  folder.write("rw.py", "import json, helper\nfrom deep import x\n");
  EXPECT_EQ(changes_of(before, find_grader_files(command)), file + " has changed");
  folder.write("last.py", "V = 1");
  EXPECT_EQ(changes_of(before, find_grader_files(command)),
            file + " has changed, " + last + " has changed");
}

TEST(SubmittedFiles, WhatSearchLooksThroughAndTheTemplateAreOfTheJob) {
  const TemporaryFolder folder;
  RunConfig config;
  EXPECT_THAT(record_of_files(config),
              ::testing::Not(::testing::HasSubstr(folder.path().string())));
  config.environment.index = folder.write("facts.txt", "a fact\n");
  config.text.chat_template = folder.write("mine.jinja", "{{ messages }}");
  const std::string before = record_of_files(config);
  EXPECT_THAT(before, ::testing::HasSubstr(config.environment.index));
  EXPECT_THAT(before, ::testing::HasSubstr(config.text.chat_template));
  folder.write("facts.txt", "another fact\n");
  EXPECT_NE(record_of_files(config), before);
}

}  // namespace
}  // namespace rollcall::run
