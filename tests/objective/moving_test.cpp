// What a recipe moves from step to step is told as a metric, with the value that the step had; what
// stays is not.
#include "evaluate_step.hpp"
#include "objective/objective.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::objective::test {
namespace {

using Named = std::map<std::string, double>;

/// Metrics moving/NAME of a step at this progress, with these statistics.
Named moving(const std::string& recipe, double progress, std::uint64_t number,
             const Named& statistics = {}, const Settings& knobs = {}) {
  const PlainStep step = step_with_experts();
  auto columns = step.columns();
  columns.progress = progress, columns.step = number, columns.statistics = statistics;
  Named found;
  for (const auto& [name, value] : merge(*Objective(recipe, {}, knobs).prepare(columns), {}))
    if (name.starts_with("moving/")) found[name.substr(7)] = value;
  return found;
}

RC_GTEST_PROP(Moving, SchedulesByProgressOrStep, ()) {
  EXPECT_EQ(moving("grpo_kl", 0.5, 9), Named());  // a constant
  EXPECT_DOUBLE_EQ(moving("othink-grpo-d", 0.0, 1).at("kl_coef"), 0.01);
  EXPECT_DOUBLE_EQ(moving("othink-grpo-d", 0.3, 1).at("kl_coef"), 0.0);
  EXPECT_DOUBLE_EQ(moving("othink-grpo-d", 0.65, 1).at("kl_coef"), 0.01);
  EXPECT_DOUBLE_EQ(moving("chord", 0.9, 100).at("mu"), 0.25);
  EXPECT_DOUBLE_EQ(moving("chord", 0.1, 600).at("mu"), 0.02);
  const auto d3s = moving("d3s", 0.5, 1);
  EXPECT_DOUBLE_EQ(d3s.at("rollouts_share"), 0.375);
  EXPECT_DOUBLE_EQ(d3s.at("tokens_share"), 0.375);
  EXPECT_DOUBLE_EQ(moving("rmt", 1.0, 1).at("length_budget"), 160.0);
  EXPECT_EQ(moving("kimi15", 0.25, 1).at("group_length_weight"), 0.0);
  EXPECT_EQ(moving("kimi15", 0.5, 1).at("group_length_weight"), 0.5);
  EXPECT_EQ(moving("kimi15", 0.5, 1, {}, {{"group_length_from", "0"}}), Named());
}

RC_GTEST_PROP(Moving, ControllersAndStatistics, ()) {
  EXPECT_DOUBLE_EQ(moving("ppo_kl_penalty", 0.0, 0).at("kl_coef"), 1.0);
  EXPECT_DOUBLE_EQ(moving("ppo_kl_penalty", 0.0, 0, {}, {{"kl_start", "3"}}).at("kl_coef"), 3.0);
  EXPECT_DOUBLE_EQ(moving("ppo_kl_penalty", 0.5, 2, {{"kl_coef", 0.25}}).at("kl_coef"), 0.25);
  EXPECT_DOUBLE_EQ(moving("skywork_or1", 0.5, 2, {{"entropy_coef", 0.002}}).at("entropy_coef"),
                   0.002);
  const auto moments = moving(
      "ppo-max", 0.5, 2, {{"moving_count", 4.0}, {"moving_sum", 2.0}, {"moving_squares", 5.0}});
  EXPECT_DOUBLE_EQ(moments.at("moving_mean"), 0.5);
  EXPECT_DOUBLE_EQ(moments.at("moving_spread"), 1.0);
  EXPECT_FALSE(moving("ppo-max", 0.5, 0).contains("moving_mean")) << "no step came before";
  EXPECT_DOUBLE_EQ(moving("gtpo", 0.5, 2, {{"first_entropy", 0.375}}).at("first_entropy"), 0.375);
  const auto quantiles = moving("riskpo", 0.5, 2, {{"risk_low", 0.75}});
  EXPECT_DOUBLE_EQ(quantiles.at("risk_low"), 0.75);
  EXPECT_DOUBLE_EQ(quantiles.at("risk_high"), 4.0);  // 0.8 of a bundle of 5
}

}  // namespace
}  // namespace rollcall::objective::test
