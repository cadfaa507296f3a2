// Outcome histories against a plain list, up to and past the window and the words they are kept in.
#include "scheduling/prompts/prompt_history.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>

namespace rollcall::scheduling {
namespace {

TEST(PromptHistory, ByHandAcrossTheWordBoundaries) {
  PromptHistory history(2, 70);
  for (int i = 0; i < 70; ++i) history.add({1}, i % 2 == 0);
  EXPECT_EQ(history.seen({1}), 70);
  EXPECT_EQ(history.passed({1}), 35);
  history.add({1}, false);  // the oldest, a success, is forgotten
  EXPECT_EQ(history.seen({1}), 70);
  EXPECT_EQ(history.passed({1}), 34);
  EXPECT_EQ(history.seen({0}), 0);
  EXPECT_EQ(history.passed({0}), 0);
}

TEST(PromptHistory, AHundredOutcomesAreRemembered) {
  PromptHistory history(1, 100);
  for (int i = 0; i < 100; ++i) history.add({0}, i < 3);  // the three oldest
  EXPECT_EQ(history.passed({0}), 3);
  for (int left = 2; left >= 0; --left) {
    history.add({0}, false);
    EXPECT_EQ(history.passed({0}), left);
  }
}

TEST(PromptHistory, EqualsAListOfTheLastOutcomes) {
  EXPECT_TRUE(rc::check("any window, any outcomes", [] {
    const int window = *rc::gen::inRange(1, PromptHistory::kLongest + 1);
    PromptHistory history(1, window);
    std::deque<bool> list;
    for (int i = 0, n = *rc::gen::inRange(0, 200); i < n; ++i) {
      const bool outcome = *rc::gen::arbitrary<bool>();
      history.add({0}, outcome);
      list.push_front(outcome);
      if (int(list.size()) > window) list.pop_back();
      RC_ASSERT(history.seen({0}) == int(list.size()));
      RC_ASSERT(history.passed({0}) == int(std::count(list.begin(), list.end(), true)));
    }
  }));
}

}  // namespace
}  // namespace rollcall::scheduling
