// What every generated task promises: disjoint, distinct, addressed by seed and index, and levels
// by the stated law.
#include "base/errors/error.hpp"
#include "task/generate.hpp"
#include "task/task.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

namespace rollcall::task {
namespace {

TaskSection section_of(const std::string& name) {
  TaskSection s;
  s.name = name;
  s.train_prompts = 600, s.validation_prompts = 60, s.heldout_prompts = 80;
  s.min_level = 1, s.max_level = 8;
  return s;
}

class BuiltIn : public ::testing::TestWithParam<const char*> {
 protected:
  const TaskRow& row() const { return find_task(GetParam()); }
  TaskSection section() const { return section_of(GetParam()); }
};

std::set<std::string> texts(const std::vector<Prompt>& prompts) {
  std::set<std::string> all;
  for (const Prompt& p : prompts) all.insert(p.text);
  return all;
}

TEST_P(BuiltIn, NoTextIsInTwoSplitsOfAnySeedsAndSizes) {
  std::map<std::string, Split> home;
  for (const std::uint64_t seed : {1, 2, 3, 77}) {
    TaskSection s = section();
    s.train_prompts += std::int64_t(seed) * 100;
    const PromptSet set = row().make(s, seed);
    for (const Split split : {Split::train, Split::validation, Split::heldout}) {
      for (const Prompt& p : set.of(split)) {
        EXPECT_EQ(p.split, split);
        EXPECT_EQ(home.try_emplace(p.text, split).first->second, split) << p.text;
      }
    }
  }
}

TEST_P(BuiltIn, PromptsOfASplitAreDistinctAndNumberedInOrder) {
  const PromptSet set = row().make(section(), 5);
  for (const auto* split : {&set.train, &set.validation, &set.heldout}) {
    EXPECT_EQ(texts(*split).size(), split->size());
    for (std::size_t i = 0; i < split->size(); ++i) EXPECT_EQ((*split)[i].id.value, i);
  }
  EXPECT_EQ(set.train.size(), 600U);
  EXPECT_EQ(set.validation.size(), 60U);
  EXPECT_EQ(set.heldout.size(), 80U);
}

TEST_P(BuiltIn, TheSameSectionAndSeedGiveTheSamePromptsAndHash) {
  const auto once = row().make(section(), 5), again = row().make(section(), 5),
             other = row().make(section(), 6);
  EXPECT_EQ(texts(once.train), texts(again.train));
  EXPECT_EQ(once.hash, again.hash);
  EXPECT_NE(once.hash, other.hash);
  EXPECT_EQ(once.hash.size(), 64U);
}

TEST_P(BuiltIn, ASmallerSetIsTheBeginningOfALargerOne) {
  TaskSection small = section();
  small.train_prompts = 50, small.heldout_prompts = 10;
  const auto few = row().make(small, 9), many = row().make(section(), 9);
  for (std::size_t i = 0; i < few.train.size(); ++i)
    EXPECT_EQ(few.train[i].text, many.train[i].text);
  for (std::size_t i = 0; i < few.heldout.size(); ++i)
    EXPECT_EQ(few.heldout[i].text, many.heldout[i].text);
}

TEST_P(BuiltIn, LevelsOutsideTheTasksOwnAreCutOffOrRefused) {
  TaskSection s = section();
  s.max_level = 64;
  s.train_prompts = 200;
  EXPECT_EQ(row().make(s, 1).train.size(), 200U);
  if (std::string(GetParam()) == "sorting") return;  // knows every level a run file can ask for
  s.min_level = 60;
  EXPECT_THROW(row().make(s, 1), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(Tasks, BuiltIn,
                         ::testing::Values("sorting", "arithmetic", "countdown", "tags", "json",
                                           "instructions", "multiple_choice", "word_sorting",
                                           "graph", "knights_knaves", "units", "key_door", "rooms",
                                           "frozen_lake", "bandit", "twenty_questions",
                                           "number_dialogue", "shop", "forms"),
                         [](const auto& i) { return std::string(i.param); });

TEST(Splits, SharesAreEightyTenTen) {
  std::map<Split, int> count;
  for (int i = 0; i < 20000; ++i) ++count[split_of("prompt " + std::to_string(i))];
  // Five standard deviations of a binomial count: 5 * sqrt(20000 p (1 - p)).
  EXPECT_NEAR(count[Split::train], 16000, 283);
  EXPECT_NEAR(count[Split::validation], 2000, 213);
  EXPECT_NEAR(count[Split::heldout], 2000, 213);
}

TEST(Splits, TheSaltIsPinned) {  // another one would let texts change sides between releases
  std::string sides;
  for (char c = 'a'; c <= 'z'; ++c) sides += "tvh"[int(split_of(std::string(1, c)))];
  EXPECT_EQ(sides, "tttttvtttthtttttvthhtttttt");
}

TEST(Splits, AUsedUpSpaceGivesASmallerSplitOfEverythingThereIs) {
  TaskSection s = section_of("sorting");
  s.max_level = 2;  // 10 + 100 texts in all
  const PromptSet set = find_task("sorting").make(s, 1);
  EXPECT_EQ(set.train.size() + set.validation.size() + set.heldout.size(), 110U);
}

TEST(Splits, HashSeesEveryField) {
  PromptSet set;
  set.train = {{{0}, Split::train, 2, "ab", "c", "d"}};
  const std::string before = hash_of(set);
  PromptSet moved = set;
  moved.train[0].text = "a", moved.train[0].answer = "bc";
  EXPECT_NE(hash_of(moved), before);
  PromptSet level = set;
  level.train[0].level = 3;
  EXPECT_NE(hash_of(level), before);
}

TEST(LevelLaw, InvertsTheCumulativeLaw) {
  const LevelLaw law(1, 3, 1.0);  // weights 1, 1/2, 1/3 of 11/6: cumulative 6/11, 9/11, 1
  EXPECT_EQ(law.at(0.0), 1);
  EXPECT_EQ(law.at(0.54), 1);
  EXPECT_EQ(law.at(0.55), 2);
  EXPECT_EQ(law.at(0.81), 2);
  EXPECT_EQ(law.at(0.82), 3);
  EXPECT_EQ(law.at(0x1.fffffffffffffp-1), 3);
}

TEST(LevelLaw, ZeroIsUniformAndNegativePrefersTheHighest) {
  const LevelLaw flat(2, 5, 0.0), rising(1, 3, -1.0);  // 1/6, 3/6, 1
  EXPECT_EQ(flat.at(0.24), 2);
  EXPECT_EQ(flat.at(0.26), 3);
  EXPECT_EQ(rising.at(0.16), 1);
  EXPECT_EQ(rising.at(0.49), 2);
  EXPECT_EQ(rising.at(0.51), 3);
}

TEST(LevelLaw, ADroppedLevelLeavesItsShareToTheOthers) {
  LevelLaw law(1, 3, 1.0);
  law.drop(1);  // 3/5, 2/5
  EXPECT_EQ(law.at(0.59), 2);
  EXPECT_EQ(law.at(0.61), 3);
  law.drop(3), law.drop(2);
  EXPECT_TRUE(law.empty());
}

TEST(LevelLaw, PromptsFollowIt) {
  TaskSection s = section_of("sorting");
  // no level runs dry
  s.min_level = 6, s.max_level = 9, s.train_prompts = 4000, s.tail_exponent = 2;
  std::map<int, int> count;
  for (const Prompt& p : find_task("sorting").make(s, 3).train) ++count[p.level];
  const double total = 1 / 36. + 1 / 49. + 1 / 64. + 1 / 81.;
  // five standard deviations
  for (int level = 6; level <= 9; ++level)
    EXPECT_NEAR(count[level], 4000 / total / (level * level), 160) << level;
}

TEST(Tasks, UnknownNameNamesTheNearest) {
  try {
    find_task("countdwn");
    FAIL() << "accepted";
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean countdown?"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace rollcall::task
