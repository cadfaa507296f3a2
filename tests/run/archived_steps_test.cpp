// What is told of archived steps, by the steps themselves.
#include "run/step/archived_steps.hpp"

#include "run/random_batch.hpp"

#include <gmock/gmock.h>

namespace rollcall::run {
namespace {

Turn drawn(std::vector<float> mass) {
  const std::size_t n = mass.size();
  return {.role = Role::policy,
          .tokens = std::vector<std::int32_t>(n, 1),
          .columns = {.logprob = std::vector<float>(n), .entropy = std::vector<float>(n)},
          .policy_version = std::vector<std::uint64_t>(n),
          .kept_mass = std::move(mass)};
}

StepBatch step_of(Turn turn) {
  StepBatch step;
  step.groups.push_back({.id = {1, {0}, 0},
                         .level = 0,
                         .rollouts = {Rollout{0, FinishReason::stop, {std::move(turn)}, ""}}});
  return step;
}

/// A run file with the same top_p says nothing of the bias, and a file that lies alone has none.
TEST(ArchivedSteps, DrawsFromAPartAreToldByTheirMass) {
  EXPECT_THAT(truncated_draws_told(step_of(drawn({0.9F, 0.8F}))),
              testing::HasSubstr("drawn from 0.85 of the probability"));
  EXPECT_EQ(truncated_draws_told(step_of(drawn({}))), "") << "they left no token out";
  EXPECT_EQ(truncated_draws_told(step_of(drawn({1.0F, 1.0F}))), "");
  Turn kept = drawn({0.9F});
  const std::int32_t ids[] = {1, 2};
  kept.kept.put(0, ids);
  EXPECT_EQ(truncated_draws_told(step_of(kept)), "") << "log-probs are of the part itself";
}

}  // namespace
}  // namespace rollcall::run
