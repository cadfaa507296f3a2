// The signals of the rollout game by hand, and which of them may be played for.
#include "scheduling/arm_signal.hpp"

#include "base/errors/error.hpp"
#include "scheduling/schedulers.hpp"
#include "scheduling/simulated_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::scheduling {
namespace {

ArmSignal named(const std::string& name) {
  ArmSignal signal;
  ConfigSchema schema;
  signal.bind(schema);
  schema.set("arm_signal=" + name);
  return signal;
}

TEST(ArmSignal, ByHand) {
  GroupReport r = no_results({0, {0}, 0}, 2);
  r.rewards = {1.0, 1.0, 0.0, 1.0};
  r.correct = {0, 0, 0, 1};
  r.loss = 0.5;
  EXPECT_EQ(named("informative").gain(r, 2), 0.0);
  EXPECT_EQ(named("informative").gain(r, 3), 1.0);
  EXPECT_EQ(named("informative").gain(r, 1), 0.0);
  // mean 2/3: (1/9 + 1/9 + 4/9) / 2, over 3
  EXPECT_NEAR(named("variance_proxy").gain(r, 3), -(1.0 / 3) / 3, 1e-15);
  // mean 3/4: (3/16 + 9/16) / 3, over 4
  EXPECT_NEAR(named("variance_proxy").gain(r, 4), -0.25 / 4, 1e-15);
  EXPECT_TRUE(std::isnan(named("variance_proxy").gain(r, 1)));
  EXPECT_EQ(named("solved").gain(r, 3), 0.0);
  EXPECT_EQ(named("solved").gain(r, 4), 1.0);
  EXPECT_EQ(named("failure_rate").gain(r, 4), -0.25);
  EXPECT_EQ(named("surrogate_loss").gain(r, 4), -0.5);
  EXPECT_TRUE(std::isnan(named("informative").gain(r, 5)));  // it had four
}

TEST(ArmSignal, WhatCannotRankCountsIsRefusedByName) {
  for (const std::string row : {"rollout_gdro", "gdro_both", "gdro_both_resample"}) {
    for (const std::string signal : {"failure_rate", "surrogate_loss"}) {
      try {
        make_scheduler({row}, {{"arm_signal", signal}}, prompt_table(4), 1);
        FAIL() << row << ' ' << signal;
      } catch (const ConfigError& e) {
        EXPECT_NE(std::string(e.what()).find("arm_signal = " + signal), std::string::npos)
            << e.what();
        EXPECT_NE(std::string(e.what()).find("informative"), std::string::npos) << e.what();
      }
    }
    for (const std::string signal : {"informative", "variance_proxy", "solved"})
      EXPECT_TRUE(make_scheduler({row}, {{"arm_signal", signal}}, prompt_table(4), 1)
                      ->traits()
                      .warnings.empty());
  }
}

TEST(ArmSignal, ThePapersOwnRowsWarn) {
  const auto literal = make_scheduler({"gdro_paper_rollout"}, {}, prompt_table(4), 1);
  ASSERT_EQ(literal->traits().warnings.size(), 1U);
  EXPECT_NE(literal->traits().warnings.front().find("surrogate_loss"), std::string::npos);
  EXPECT_TRUE(
      make_scheduler({"gdro_paper_rollout"}, {{"arm_signal", "informative"}}, prompt_table(4), 1)
          ->traits()
          .warnings.empty());
}

}  // namespace
}  // namespace rollcall::scheduling
