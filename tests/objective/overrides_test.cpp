// Names, overrides and refusals: what a run file may say, and what it is told when it says something else.
#include "base/error.hpp"
#include "objective/objective.hpp"
#include "objective/recipes.hpp"
#include "plain_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& recipe, const Settings& pieces = {}, const Settings& knobs = {}) {
  try {
    const Objective objective(recipe, pieces, knobs);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Overrides, UnknownNamesNameTheNearest) {
  EXPECT_THAT(refusal("grp"), HasSubstr("did you mean grpo?"));
  EXPECT_THAT(refusal("grpo", {{"advantages", "leave_one_out"}}), HasSubstr("did you mean advantage?"));
  EXPECT_THAT(refusal("grpo", {{"advantage", "leave_one"}}), HasSubstr("did you mean leave_one_out?"));
  EXPECT_THAT(refusal("grpo", {{"weight", "tiss"}}), HasSubstr("did you mean tis?"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_lo", "0.1"}}), HasSubstr("did you mean surrogate.clip_low?"));
  EXPECT_THAT(refusal("grpo", {}, {{"advantage.clip_low", "0.1"}}), HasSubstr("no chosen piece has a knob"));
}

TEST(Overrides, ValuesAreChecked) {
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "1.5"}}), HasSubstr("lies outside [0, 1]"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "nan"}}), HasSubstr("lies outside"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "0.1x"}}), HasSubstr("is not a number"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl"}}, {{"kl_estimator", "k4"}}), HasSubstr("is not a choice"));
}

TEST(Overrides, ImpossibleMixesAreRefusedWithTheReason) {
  EXPECT_THAT(refusal("rloo", {{"ratio", "sequence"}}), HasSubstr("reinforce does not look at the ratio"));
  EXPECT_THAT(refusal("grpo", {}, {{"dual_clip", "1.1"}}), HasSubstr("cut off tokens inside the trust interval"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl"}}, {{"kl_estimator", "k1"}}), HasSubstr("its derivative does not depend on the anchor"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl+kl"}}), HasSubstr("names kl twice"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl+none"}}), HasSubstr("is not a piece"));
  EXPECT_THAT(refusal("grpo", {{"advantage", "none"}}), HasSubstr("exactly one piece"));
}

TEST(Overrides, ShortAndLongKnobNamesAreTheSame) {
  const Objective by_name("grpo", {}, {{"clip_low", "0.1"}}), by_key("grpo", {}, {{"surrogate.clip_low", "0.1"}});
  EXPECT_EQ(by_name.describe(), by_key.describe());
  EXPECT_THAT(by_name.describe(), HasSubstr("0.1 "));
}

TEST(Overrides, ARowsOwnSettingGoesWithItsPiece) {
  EXPECT_THAT(Objective("dapo").describe(), HasSubstr("0.28"));
  EXPECT_EQ(refusal("dapo", {{"surrogate", "reinforce"}}), "accepted");
  EXPECT_THAT(refusal("dapo", {{"surrogate", "reinforce"}}, {{"clip_high", "0.3"}}), HasSubstr("no chosen piece has a knob"));
}

TEST(Overrides, AnOverriddenRecipeIsTheOtherRecipe) {
  // dr_grpo is grpo with two pieces replaced.
  const PlainStep step = random_step({3, 2}, 4, 0.3);
  const auto loss = [&](const Objective& o) { return o.evaluate(*o.prepare(step.columns()), step.leaf(step.all())).loss; };
  EXPECT_EQ(loss(Objective("dr_grpo")), loss(Objective("grpo", {{"advantage", "group_center"}, {"aggregate", "seq-mean-token-sum-norm"}})));
}

TEST(Overrides, OptionalColumnsAreAskedForByName) {
  const Objective with_kl("grpo", {{"regularizer", "kl"}}), anchored("grpo", {{"regularizer", "kl"}}, {{"kl_anchor", "old"}});
  EXPECT_EQ(with_kl.columns(), std::vector<std::string>{"reference_logprob"});
  EXPECT_TRUE(anchored.columns().empty());
  StepColumns columns = random_step({2}, 1, 0.1).columns();
  columns.named.clear();
  EXPECT_THROW(with_kl.prepare(columns), ConfigError);
  EXPECT_NO_THROW(anchored.prepare(columns));
}

TEST(Overrides, StepsThatCannotBeMeantAreRefused) {
  PlainStep step = random_step({2, 2}, 1, 0.1);
  step.horizon = 0.0;
  EXPECT_THROW(Objective("dr_grpo").prepare(step.columns()), ConfigError);
  EXPECT_NO_THROW(Objective("dr_grpo", {}, {{"horizon", "64"}}).prepare(step.columns()));
  step.rollouts[0].reward = std::nan("");
  EXPECT_THROW(Objective("grpo").prepare(step.columns()), NumericsError);
  step.rollouts[0].reward = 0.0;
  step.rollouts[3].group = 2;  // group 2 after 1, but group 1 is left with one rollout: allowed
  EXPECT_NO_THROW(Objective("grpo").prepare(step.columns()));
  step.rollouts[2].group = 2;  // now nobody is in group 1
  EXPECT_THROW(Objective("grpo").prepare(step.columns()), std::logic_error);
}

TEST(Overrides, EveryRowResolvesAndEveryPieceHasACard) {
  for (const auto& name : recipe_names()) EXPECT_THAT(Objective(name).describe(), HasSubstr("advantage"));
  for (const auto& card : piece_cards()) EXPECT_FALSE(card.formula.empty()) << card.name;
}

}  // namespace
}  // namespace rollcall::objective::test
