// Which runs need a step's rollouts on every update rank: where this is wrong, ranks wait for
// collectives that others do not enter.
#include "run/update/update.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

StepResidency of(const std::string& recipe, const method::Settings& pieces = {},
                 const std::function<void(RunConfig&)>& set = {}) {
  RunConfig config;
  if (set) set(config);
  const method::Settings knobs =
      pieces.empty() ? method::Settings{} : method::Settings{{"kl_coef", "0.1"}};
  return step_at(config, *method::make_objective(recipe, pieces, knobs));
}

TEST(StepResidency, IsTheLeaderWhereTheObjectiveReadsWhatIsStored) {
  for (const char* recipe : {"grpo", "dapo", "asymre", "kl_cov", "opo", "reinforce"})
    EXPECT_EQ(of(recipe), StepResidency::leader) << recipe;
}

TEST(StepResidency, IsTheLeaderWhereDerivedGroupsTrainBehindTheirOwnPrompts) {
  EXPECT_EQ(of("grpo", {}, [](RunConfig& c) { c.second_pass.kind = "refinement"; }),
            StepResidency::leader);
}

TEST(StepResidency, IsEveryRankWhereMendedBeginningsTrain) {
  const auto mends = [](RunConfig& c) { c.second_pass.kind = "error"; };
  EXPECT_EQ(of("int-intervention-training"), StepResidency::leader) << "no beginning is given";
  EXPECT_EQ(of("int-intervention-training", {}, mends), StepResidency::every_rank);
  EXPECT_EQ(of("grpo", {}, mends), StepResidency::leader) << "nothing asks for them";
}

TEST(StepResidency, IsEveryRankWhereModelsRunOverRollouts) {
  EXPECT_EQ(of("grpo", {{"regularizer", "kl"}}), StepResidency::every_rank) << "a reference";
  for (const char* recipe : {"ppo", "g2rl", "spae-step-potential"})
    EXPECT_EQ(of(recipe), StepResidency::every_rank) << recipe;
}

TEST(StepResidency, IsEveryRankWhereMoreThanTheStepsOwnRolloutsTrainOrTheyTrainTwice) {
  const std::vector<std::function<void(RunConfig&)>> settings = {
      [](RunConfig& c) { c.train.epochs = 2; },
      [](RunConfig& c) { c.train.mini_batches = 2; },
      [](RunConfig& c) { c.train.from_archive = "runs/earlier"; },
      [](RunConfig& c) { c.replay.share = 0.5; },
      [](RunConfig& c) { c.experts.share = 1.0; },
      [](RunConfig& c) { c.second_pass.kind = "refinement", c.second_pass.trained_on = "parent"; },
      [](RunConfig& c) { c.hints.learns = true; },
      [](RunConfig& c) { c.scheduler.sampler = "tracked_deviation"; },
  };
  for (std::size_t i = 0; i < settings.size(); ++i)
    EXPECT_EQ(of("grpo", {}, settings[i]), StepResidency::every_rank) << i;
}

}  // namespace
}  // namespace rollcall::run
