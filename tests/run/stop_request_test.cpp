// Reasons to stop, and none.
#include "run/workers/stop_request.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

namespace rollcall::run {
namespace {

class Stop : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("SLURM_JOB_END_TIME"); }
  void TearDown() override { ::unsetenv("SLURM_JOB_END_TIME"); }
  static bool at_limit(StopRequest stop) {
    return stop.reason().value_or("").starts_with("the wall-time limit: ");
  }
  rollcall::testing::TemporaryFolder folder;
};

TEST_F(Stop, HasNoReasonByItself) {
  EXPECT_EQ(StopRequest(folder.path(), 0).reason(), std::nullopt);
  EXPECT_EQ(StopRequest(folder.path(), 3600).reason(), std::nullopt);
}

TEST_F(Stop, SeesTheStopFile) {
  StopRequest stop(folder.path(), 0);
  folder.write("stop", "");
  EXPECT_EQ(stop.reason(), "the stop file");
}

TEST_F(Stop, TakesTheEndFromSlurmUnlessTheRunFileNamesOne) {
  ::setenv("SLURM_JOB_END_TIME", std::to_string(std::time(nullptr) + 100).c_str(), 1);
  StopRequest stop(folder.path(), 0);
  EXPECT_NEAR(stop.left_s().value(), 100, 5);
  stop.step_took(70);
  EXPECT_TRUE(at_limit(stop));
  EXPECT_NEAR(StopRequest(folder.path(), 3600).left_s().value(), 3600, 5);
  ::setenv("SLURM_JOB_END_TIME", "99999999999", 1);
  EXPECT_EQ(StopRequest(folder.path(), 0).reason(), std::nullopt);
}

TEST(EndTime, IsReadFromWhatScontrolPrints) {
  EXPECT_EQ(end_time_of("JobId=7 JobName=a StartTime=1795000000 EndTime=1795003600 Deadline=N/A\n"),
            1795003600.0);
  EXPECT_EQ(end_time_of("JobId=7 EndTime=1795003600"), 1795003600.0);
  for (const char* text :
       {"", "JobId=7", "JobId=7 EndTime=Unknown Deadline=N/A",
        "JobId=7 EndTime=2026-11-29T12:00:00", "JobId=7 EndTime=", "MyEndTime=1795003600"})
    EXPECT_EQ(end_time_of(text), std::nullopt) << text;
}

// A shell that is left from an old allocation would end every run in it before the first step.
TEST_F(Stop, IgnoresAnEndThatCannotBeOne) {
  for (const char* text : {"1000000000", "0", "-5", "", "soon", "2030-01-01T00:00:00",
                           "99999999999x", "1e300", "999999999999999999999"}) {
    ::setenv("SLURM_JOB_END_TIME", text, 1);
    EXPECT_EQ(StopRequest(folder.path(), 0).left_s(), std::nullopt) << text;
  }
}

TEST_F(Stop, LeavesRoomForAStepAndTwoCheckpoints) {
  StopRequest step(folder.path(), 100);
  step.step_took(60);
  EXPECT_EQ(step.reason(), std::nullopt);
  step.step_took(70);  // 1.5 x 70 s > 100 s
  step.step_took(1);
  EXPECT_TRUE(at_limit(step));
  EXPECT_DOUBLE_EQ(step.margin_s(), 1.5 * 70 + 1);
  StopRequest checkpoint(folder.path(), 100);
  checkpoint.checkpoint_took(40);
  EXPECT_EQ(checkpoint.reason(), std::nullopt);
  checkpoint.checkpoint_took(50);  // 2 x 50 s and a second > 100 s
  EXPECT_TRUE(at_limit(checkpoint));
  EXPECT_NE(checkpoint.reason()->find("a step takes up to 0.0 s and a checkpoint up to 50.0 s"),
            std::string::npos)
      << *checkpoint.reason();
}

TEST_F(Stop, SaysWhenAStepIsExpectedToEnd) {
  StopRequest endless(folder.path(), 0);
  EXPECT_EQ(endless.times(3).expected_s, StepTimes::kUnknown) << "no step has ended yet";
  EXPECT_EQ(endless.times(3).latest_s, -StepTimes::kUnknown);
  endless.step_took(60);
  endless.step_took(10);
  EXPECT_DOUBLE_EQ(endless.times(20).expected_s, 40);
  endless.begin_phase();
  EXPECT_EQ(endless.times(20).expected_s, StepTimes::kUnknown)
      << "a supervised step says nothing of another";
  StopRequest limited(folder.path(), 1000);
  limited.checkpoint_took(30);
  EXPECT_NEAR(limited.times(0).latest_s, 1000 - 2 * 30, 5);
}

TEST_F(Stop, ACheckpointIsDueBeforeTooMuchIsLost) {
  StopRequest stop(folder.path(), 0);
  EXPECT_FALSE(stop.is_checkpoint_due(599));
  EXPECT_TRUE(stop.is_checkpoint_due(601));
  stop.checkpoint_took(60);
  EXPECT_FALSE(stop.is_checkpoint_due(60 * 20 - 1)) << "no more than a twentieth of the time";
  EXPECT_TRUE(stop.is_checkpoint_due(60 * 20 + 1));
}

TEST_F(Stop, RemembersTheSignalOfAnotherRank) {
  StopRequest stop(folder.path(), 0);
  stop.remember_signal("SIGUSR1 on rank 3");
  EXPECT_EQ(stop.reason(), "SIGUSR1 on rank 3");
}

}  // namespace
}  // namespace rollcall::run
