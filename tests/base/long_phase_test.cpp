// A sign of life of what takes longer than three seconds, and none of what does not.
#include "base/errors/long_phase.hpp"

#include "base/errors/log.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace rollcall {
namespace {

std::string told_of(std::chrono::milliseconds time) {
  ::testing::internal::CaptureStderr();
  prepare_log();
  {
    const LongPhase phase("reading the weights", [] { return std::string("7 of 9 files"); });
    std::this_thread::sleep_for(time);
  }
  flush_log();
  return ::testing::internal::GetCapturedStderr();
}

TEST(LongPhase, ASlowOneIsToldOf) {
  const std::string said = told_of(std::chrono::milliseconds(3300));
  EXPECT_NE(said.find("reading the weights: 3 s so far, 7 of 9 files"), std::string::npos) << said;
  EXPECT_NE(said.find("reading the weights: done after 3."), std::string::npos) << said;
}

TEST(LongPhase, AQuickOneIsNot) { EXPECT_EQ(told_of(std::chrono::milliseconds(5)), ""); }

}  // namespace
}  // namespace rollcall
