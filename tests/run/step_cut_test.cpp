// Which steps are cut when a signal comes, and that all ranks cut the same ones.
#include "run/workers/step_cut.hpp"

#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace rollcall::run {
namespace {

constexpr double kUnknown = StepTimes::kUnknown;

TEST(StepCut, WithoutASignalEveryStepIsFinished) {
  for (const double expected_s : {0.0, 1e9, kUnknown})
    EXPECT_FALSE(is_cut({}, expected_s, -kUnknown, 1e9));
}

TEST(StepCut, AfterSigtermAStepHasTwentySeconds) {
  const SignalTimes came{.last_call_s = 100};
  for (const double latest_s : {-kUnknown, 50.0, 1e9}) {  // the end of the allocation says nothing
    EXPECT_FALSE(is_cut(came, 119, latest_s, 100));
    EXPECT_TRUE(is_cut(came, 121, latest_s, 100));
    EXPECT_TRUE(is_cut(came, kUnknown, latest_s, 100));
    EXPECT_TRUE(is_cut(came, 119, latest_s, 120.5)) << "it takes longer than was expected";
  }
}

TEST(StepCut, AfterANoticeAStepHasTheAllocation) {
  const SignalTimes came{.notice_s = 100};
  EXPECT_FALSE(is_cut(came, 999, 1000, 100));
  EXPECT_TRUE(is_cut(came, 1001, 1000, 100));
  EXPECT_TRUE(is_cut(came, 999, 1000, 1001)) << "it takes longer than was expected";
  EXPECT_TRUE(is_cut(came, kUnknown, 1000, 100));
  EXPECT_FALSE(is_cut(came, 119, 110, 100)) << "twenty seconds in any case";
  EXPECT_FALSE(is_cut(came, 119, -kUnknown, 100));
  EXPECT_TRUE(is_cut(came, 121, -kUnknown, 100)) << "nobody knows the end of the allocation";
}

TEST(StepCut, TheLastCallShortensANotice) {
  const SignalTimes came{.notice_s = 100, .last_call_s = 200};
  EXPECT_FALSE(is_cut(came, 219, 1000, 200));
  EXPECT_TRUE(is_cut(came, 999, 1000, 200));
}

/// In a process of its own, since a signal that has come cannot be taken back.
void check_with_signal() {
  const auto expects = [](bool holds, int code) {
    if (!holds) std::_Exit(code);
  };
  note_stop_signals();
  StepCut cut;
  expects(!cut.wanted(), 2);
  std::raise(SIGTERM);
  cut.begin({.expected_s = 5});
  expects(!cut.wanted(), 3);
  cut.begin({});
  expects(cut.wanted(), 4);
  std::atomic<int> thrown = 0;
  comm::run_as_threads(3, [&](comm::Communicator& ranks) {  // only one of them wants it
    StepCut own;
    own.begin(ranks.rank() == 1 ? StepTimes{} : StepTimes{.expected_s = 5});
    try {
      own.agree(ranks);
    } catch (const StepIsCut&) {
      ++thrown;
    }
    own.begin({.expected_s = 5});
    own.agree(ranks);
  });
  expects(thrown == 3, 5);
  std::_Exit(0);
}

TEST(StepCutDeathTest, RanksAgree) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(check_with_signal(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rollcall::run
