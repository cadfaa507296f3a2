// Reasons to stop, and none.
#include "stages/stop_request.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rollcall::stages {
namespace {

class Stop : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("SLURM_JOB_END_TIME"); }
  void TearDown() override { ::unsetenv("SLURM_JOB_END_TIME"); }
  static bool at_limit(StopRequest stop) { return stop.reason().value_or("").starts_with("the wall-time limit: "); }
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
  ::setenv("SLURM_JOB_END_TIME", "1000000000", 1);  // 2001
  EXPECT_TRUE(at_limit(StopRequest(folder.path(), 0)));
  EXPECT_EQ(StopRequest(folder.path(), 3600).reason(), std::nullopt);
  ::setenv("SLURM_JOB_END_TIME", "99999999999", 1);
  EXPECT_EQ(StopRequest(folder.path(), 0).reason(), std::nullopt);
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
  EXPECT_NE(checkpoint.reason()->find("a step takes up to 0.0 s and a checkpoint up to 50.0 s"), std::string::npos) << *checkpoint.reason();
}

TEST_F(Stop, RemembersTheSignalOfAnotherRank) {
  StopRequest stop(folder.path(), 0);
  stop.remember_signal("SIGUSR1 on rank 3");
  EXPECT_EQ(stop.reason(), "SIGUSR1 on rank 3");
}

}  // namespace
}  // namespace rollcall::stages
