// Which checkpoints stay: the best step is found by a metric of either sign, and names are kept
// once.
#include "run/coordinator/kept_checkpoints.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

CoordinatorState after(std::int64_t train_steps) {
  CoordinatorState state;
  state.train_steps = train_steps;
  state.kept.emplace();
  return state;
}

report::MetricRow row(const std::string& phase, const std::string& name, double value) {
  return {phase, 1, {{"other", 9.0}, {name, value}}};
}

TEST(KeptCheckpoints, TheBestStepHasTheLargestValue) {
  CoordinatorState state = after(3);
  EXPECT_TRUE(note_best(state, "critic/score/mean", row("train", "critic/score/mean", -2.0)));
  state.train_steps = 4;
  EXPECT_FALSE(note_best(state, "critic/score/mean", row("train", "critic/score/mean", -2.0)));
  EXPECT_FALSE(note_best(state, "critic/score/mean", row("train", "critic/score/mean", NAN)));
  EXPECT_EQ(state.best_checkpoint, "train_000003");
  EXPECT_TRUE(note_best(state, "critic/score/mean", row("train", "critic/score/mean", -1.0)));
  EXPECT_EQ(state.best_checkpoint, "train_000004");
  EXPECT_EQ(state.best_metric, "critic/score/mean");
}

TEST(KeptCheckpoints, AMinusBeforeTheNameAsksForTheSmallestValue) {
  CoordinatorState state = after(1);
  EXPECT_TRUE(note_best(state, "-actor/ppo_kl", row("train", "actor/ppo_kl", 0.5)));
  EXPECT_FALSE(note_best(state, "-actor/ppo_kl", row("train", "actor/ppo_kl", 0.6)));
  EXPECT_TRUE(note_best(state, "-actor/ppo_kl", row("train", "actor/ppo_kl", 0.4)));
}

TEST(KeptCheckpoints, OnlyARowThatMeasuresTheMetricIsCompared) {
  CoordinatorState state = after(1);
  const std::string name = "validation/pass_at_1";
  EXPECT_FALSE(note_best(state, "", row("train", "other2", 1.0)));
  EXPECT_FALSE(note_best(state, name, row("train", name, 1.0))) << "of another phase";
  EXPECT_FALSE(note_best(state, name, row("validation", "validation/pass_at_8", 1.0)));
  EXPECT_FALSE(state.best_value.has_value());
  EXPECT_TRUE(note_best(state, name, row("validation", name, 1.0)));
}

TEST(KeptCheckpoints, AnotherMetricForgetsTheBestStep) {
  CoordinatorState state = after(2);
  ASSERT_TRUE(note_best(state, "a", row("train", "a", 1.0)));
  forget_other_best(state, {.keep_best = "a", .patience = 3});
  EXPECT_EQ(state.best_checkpoint, "train_000002");
  state.validations_since_best = 2;
  forget_other_best(state, {.keep_best = "a", .patience = 3});
  EXPECT_EQ(state.validations_since_best, 2) << "the same metric";
  forget_other_best(state, {.keep_best = "-a", .patience = 3});
  EXPECT_EQ(state.validations_since_best, 0);
  EXPECT_FALSE(state.best_value.has_value());
  EXPECT_EQ(state.best_checkpoint, "");
}

TEST(KeptCheckpoints, TrainingEndsAfterValidationsWithoutANewBest) {
  const std::string name = "validation/pass_at_1";
  const CheckpointSection patient{.keep_best = name, .patience = 2};
  CoordinatorState state = after(10);
  EXPECT_TRUE(note_validation(state, patient, row("validation", name, 0.5)));
  state.train_steps = 20;
  EXPECT_FALSE(note_validation(state, patient, row("validation", name, 0.5))) << "no rise";
  EXPECT_FALSE(has_stalled(state, patient));
  EXPECT_EQ(patience_text(state, patient),
            "1 of 2 validations without a new best of validation/pass_at_1, which was that of "
            "train_000010");
  state.train_steps = 30;
  EXPECT_TRUE(note_validation(state, patient, row("validation", name, 0.6)));
  EXPECT_EQ(state.validations_since_best, 0) << "only those in a row count";
  EXPECT_FALSE(note_validation(state, patient, row("validation", name, NAN)));
  EXPECT_FALSE(note_validation(state, patient, row("validation", "other2", 1.0)));
  EXPECT_TRUE(has_stalled(state, patient));
  EXPECT_NE(patience_text(state, patient).find("the training ends after step 30"),
            std::string::npos);
  EXPECT_FALSE(has_stalled(state, {.keep_best = name, .patience = 3})) << "a start may set more";
}

TEST(KeptCheckpoints, WithoutPatienceNoValidationIsCounted) {
  const CheckpointSection impatient{.keep_best = "a"};
  CoordinatorState state = after(1);
  state.best_value = 1.0;
  EXPECT_FALSE(note_validation(state, impatient, row("validation", "validation/b", 0.0)));
  EXPECT_EQ(state.validations_since_best, 0);
  EXPECT_FALSE(has_stalled(state, impatient));
  EXPECT_EQ(patience_text(state, impatient), "");
  state.validations_since_best = 5;
  forget_other_best(state, impatient);
  EXPECT_EQ(state.validations_since_best, 0) << "a start without it begins to count anew";
}

TEST(KeptCheckpoints, StayWithTheBestOneAndTheOneToRollBackTo) {
  CoordinatorState state = after(4);
  keep_for_good(state, "train_000002");
  keep_for_good(state, "train_000004");
  keep_for_good(state, "train_000002");
  EXPECT_EQ(kept_checkpoints(state), (std::vector<std::string>{"train_000002", "train_000004"}));
  state.best_checkpoint = "train_000003";
  state.rollback_to = "train_000004";
  EXPECT_EQ(kept_checkpoints(state), (std::vector<std::string>{"train_000003", "train_000004",
                                                               "train_000002", "train_000004"}));
}

TEST(KeptCheckpoints, AreNamedAfterTheStepDoneLast) {
  RunConfig config;
  config.sft.steps = 3;
  CoordinatorState state = after(0);
  state.sft_steps = 2;
  EXPECT_EQ(step_name(state, config), "sft_000002");
  state.sft_steps = 3;
  EXPECT_EQ(step_name(state, config), "train_000000");
  state = after(7);
  EXPECT_EQ(step_name(state, config), "train_000007") << "even if more supervised steps are asked";
}

TEST(KeptCheckpoints, AreMultiplesOfKeepEvery) {
  EXPECT_FALSE(is_kept(4, {.keep_every = 0}));
  EXPECT_TRUE(is_kept(4, {.keep_every = 2}));
  EXPECT_FALSE(is_kept(5, {.keep_every = 2}));
}

}  // namespace
}  // namespace rollcall::run
