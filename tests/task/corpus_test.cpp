// Texts cut into sentences: every one is asked for once, and what surrounds it is what stood there.
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "support/temporary_folder.hpp"
#include "task/task.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

namespace rollcall::task {
namespace {

using rollcall::testing::TemporaryFolder;

TaskSection section_of(const std::string& file) {
  TaskSection s;
  s.name = "corpus", s.file = file, s.min_level = 1, s.max_level = 64;
  return s;
}

std::vector<Prompt> all_of(const PromptSet& set) {
  auto all = set.train;
  for (const auto* more : {&set.validation, &set.heldout})
    all.insert(all.end(), more->begin(), more->end());
  return all;
}

/// What a plain prompt shows, before and behind.
std::pair<std::string, std::string> shown_of(const Prompt& prompt) {
  const std::string text = prompt.text.substr(0, prompt.text.size() - 1);
  const std::size_t gap = text.find(" _ ");
  if (gap == std::string::npos) return {text, ""};
  return {text.substr(0, gap), text.substr(gap + 3)};
}

TEST(Corpus, PairsTileTheText) {
  const std::string file = ROLLCALL_SOURCE_DIR "/tests/task/sums.txt";
  std::map<std::string, std::string> asked;  // by what stands before
  int middle = 0;
  for (const Prompt& p : all_of(find_task("corpus").make(section_of(file), 1))) {
    const auto [before, behind] = shown_of(p);
    EXPECT_TRUE(asked.emplace(before, p.solution).second) << "asked for twice: " << p.solution;
    EXPECT_EQ(p.domain, behind.empty() ? "next" : "middle");
    const auto next = nlohmann::json::parse(p.answer).at("next").get<std::vector<std::string>>();
    EXPECT_EQ(next.front(), p.solution);
    EXPECT_TRUE(behind.empty() || next.size() == 1) << "what is shown is no part of the reference";
    middle += behind.empty() ? 0 : 1;
  }
  std::ifstream in(file);
  std::size_t sentences = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::string text = line.substr(0, line.find('.') + 1);
    for (auto next = asked.find(text); next != asked.end(); next = asked.find(text))
      text += " " + next->second, ++sentences;
    EXPECT_EQ(text, line);
  }
  EXPECT_EQ(sentences, asked.size());
  EXPECT_GT(middle, int(sentences) / 4);
  EXPECT_LT(middle, int(sentences) * 3 / 5);
}

TEST(Corpus, HandWorked) {
  const TemporaryFolder folder;
  const std::string text = "It rains.  \"Do\n we stay?\" We do (for now.) Then\n";
  // what is repeated is asked once
  TaskSection section = section_of(folder.write("a.txt", text + "\n  \n\n" + text));
  std::vector<std::string> solutions;
  for (const Prompt& p : all_of(find_task("corpus").make(section, 1)))
    solutions.push_back(p.solution + " " + std::to_string(p.level));
  EXPECT_EQ(solutions,
            (std::vector<std::string>{"\"Do we stay?\" 1", "We do (for now.) 2", "Then 3"}));
  section.min_level = section.max_level = 2;
  const auto two = all_of(find_task("corpus").make(section, 1));
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(shown_of(two.back()).first, "\"Do we stay?\" We do (for now.)");
}

/// Documents that begin alike and end otherwise may be of two splits: what they share is asked for
/// in one of them, as the next sentence or as a missing one.
TEST(Corpus, WhatDocumentsShareIsAskedForOnce) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "It rains. We stay. Day " + std::to_string(i) + " ends.\n\n";
  const auto set = find_task("corpus").make(section_of(folder.write("a.txt", text)), 1);
  EXPECT_FALSE(set.train.empty() || set.heldout.empty());
  int shared = 0;
  for (const Prompt& p : all_of(set)) shared += p.solution == "We stay." ? 1 : 0;
  EXPECT_EQ(shared, 1);
}

TEST(Corpus, DocumentsAreOfOneSplit) {
  const auto set =
      find_task("corpus").make(section_of(ROLLCALL_SOURCE_DIR "/tests/task/sums.txt"), 1);
  EXPECT_FALSE(set.heldout.empty() || set.validation.empty());
  // first sentences are those of one document alone
  const auto begins = [](const std::vector<Prompt>& prompts) {
    std::set<std::string> all;
    for (const Prompt& p : prompts) all.insert(p.text.substr(0, p.text.find('.')));
    return all;
  };
  const auto trained = begins(set.train);
  for (const auto& begin : begins(set.heldout)) EXPECT_FALSE(trained.contains(begin)) << begin;
}

TEST(Corpus, WhatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& content) -> std::string {
    try {
      find_task("corpus").make(section_of(folder.write("a.txt", content)), 1);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal("").find("holds no document of two sentences"), std::string::npos);
  EXPECT_NE(refusal("One.\n\nTwo.").find("holds no document of two sentences"), std::string::npos);
  EXPECT_NE(refusal("One. \xFF.").find("is not UTF-8"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::task
