// Which metrics a run file may name: what a step can measure, and the nearest name of what it
// cannot.
#include "run/coordinator/metric_names.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

std::string refusal(const std::string& keep_best, const std::string& recipe = "grpo") {
  RunConfig config;
  config.checkpoint.keep_best = keep_best, config.objective.recipe = recipe;
  try {
    check_keep_best(config, {"correct", "format"});
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(MetricNames, AreThoseThatAStepOfTheRunCanMeasure) {
  for (const char* name :
       {"", "actor/grad_norm", "-actor/ppo_kl_last", "critic/positive_share",
        "critic/component/format/mean", "validation/pass_at_1", "timing_s/step",
        "rollout_alloc/class_share/3", "curriculum/share/2", "gdro/best_count/0",
        "gdro/count_spread/5", "gdro/clipped_gains", "gdro/clipped_scores", "bandit/clipped_pay"})
    EXPECT_EQ(refusal(name), "") << name;
  EXPECT_EQ(refusal("actor/value_loss", "ppo"), "");
}

TEST(MetricNames, WhatDrawsKeepIsMeasuredWhereTheyLeaveTokensOut) {
  RunConfig config;
  const auto knows = [&](const char* name) { return MetricNames(config, {}).knows(name); };
  EXPECT_FALSE(knows("rollout/kept_mass_mean"));
  config.sampling.top_p = 0.9;
  EXPECT_TRUE(knows("rollout/kept_mass_mean") && knows("rollout/kept_mass_min") &&
              !knows("rollout/kept_tokens_mean"));
  config.sampling.logprob = "kept";
  EXPECT_TRUE(knows("rollout/kept_tokens_mean"));
  config.sampling.temperature = 0.0;
  EXPECT_FALSE(knows("rollout/kept_mass_mean"));
}

TEST(MetricNames, AMisspeltOneIsToldWithTheNearest) {
  using testing::HasSubstr;
  EXPECT_THAT(refusal("actor/gradnorm"), HasSubstr("actor/grad_norm"));
  EXPECT_THAT(refusal("-critic/component/formt/mean"), HasSubstr("critic/component/format/mean"));
  EXPECT_THAT(refusal("validation/pass_at_9"), HasSubstr("no validation measures"));
  EXPECT_THAT(refusal("pass_at_1"), HasSubstr("a step of this run does not measure"));
  EXPECT_THAT(refusal("actor/value_loss"), HasSubstr("a step of this run does not measure"))
      << "grpo has no value head";
}

}  // namespace
}  // namespace rollcall::run
