// Names, overrides and refusals: what a run file may say, and what it is told when it says
// something else.
#include "base/errors/error.hpp"
#include "objective/objective.hpp"
#include "objective/recipes.hpp"
#include "plain_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& recipe, const Settings& pieces = {},
                    const Settings& knobs = {}) {
  try {
    const Objective objective(recipe, pieces, knobs);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Overrides, UnknownNamesNameTheNearest) {
  EXPECT_THAT(refusal("grp"), HasSubstr("did you mean grpo?"));
  EXPECT_THAT(refusal("grpo", {{"advantages", "leave_one_out"}}),
              HasSubstr("did you mean advantage?"));
  EXPECT_THAT(refusal("grpo", {{"advantage", "leave_one"}}),
              HasSubstr("did you mean leave_one_out?"));
  EXPECT_THAT(refusal("grpo", {{"weight", "tiss"}}), HasSubstr("did you mean tis?"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_lo", "0.1"}}),
              HasSubstr("did you mean surrogate.clip_low?"));
  EXPECT_THAT(refusal("grpo", {}, {{"advantage.clip_low", "0.1"}}),
              HasSubstr("no chosen piece has a knob"));
}

TEST(Overrides, ValuesAreChecked) {
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "1.5"}}), HasSubstr("lies outside [0, 1]"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "nan"}}), HasSubstr("lies outside"));
  EXPECT_THAT(refusal("grpo", {}, {{"clip_low", "0.1x"}}), HasSubstr("is not a number"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl"}}, {{"kl_estimator", "k4"}}),
              HasSubstr("is not a choice"));
}

TEST(Overrides, ImpossibleMixesAreRefusedWithTheReason) {
  EXPECT_THAT(refusal("rloo", {{"ratio", "sequence"}}),
              HasSubstr("reinforce does not look at the ratio"));
  EXPECT_THAT(refusal("grpo", {}, {{"dual_clip", "1.1"}}),
              HasSubstr("cut off tokens inside the trust interval"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl"}}, {{"kl_estimator", "k1"}}),
              HasSubstr("its derivative does not depend on the anchor"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl+kl"}}), HasSubstr("names kl twice"));
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl+none"}}), HasSubstr("is not a piece"));
  EXPECT_THAT(refusal("grpo", {{"advantage", "none"}}), HasSubstr("exactly one piece"));
}

TEST(Overrides, WhatTheLossDoesNotReadIsRefused) {
  for (const char* row : {"rloo", "online_dpo", "disco", "real-labels", "pacs", "gvpo", "otr"})
    for (const char* ratio : {"behaviour", "sequence", "prefix_min", "sequence_token"})
      EXPECT_THAT(refusal(row, {{"ratio", ratio}}), HasSubstr("does not look at the ratio"))
          << row << " " << ratio;
  EXPECT_THAT(refusal("gspo", {{"surrogate", "reinforce"}}),
              HasSubstr("does not look at the ratio"));
  for (const char* row : {"online_dpo", "trpa", "disco", "real-labels", "pacs", "otr"})
    EXPECT_THAT(refusal(row, {{"advantage", "pass_at_k"}}), HasSubstr("reads no advantage")) << row;
  EXPECT_EQ(refusal("online_dpo", {{"advantage", "group_center"}}), "accepted") << "the row's own";
  EXPECT_EQ(refusal("gvpo", {{"advantage", "group_norm"}}), "accepted") << "it reads advantages";
  EXPECT_EQ(refusal("online_dpo", {{"advantage", "group_norm"}, {"weight", "keep_advantage"}}),
            "accepted")
      << "the weight reads it";
  EXPECT_THAT(refusal("grpo", {{"regularizer", "kl+value"}}), HasSubstr("reads no value"));
  EXPECT_EQ(refusal("ppo", {{"regularizer", "value+kl"}}), "accepted");
}

TEST(Overrides, TokenRewardsNeedAnAdvantageThatReadsThem) {
  EXPECT_THAT(refusal("rloo_kl", {}, {{"kl_reward_to", "token"}}),
              HasSubstr("leave_one_out reads no rewards of tokens"));
  EXPECT_THAT(refusal("ma-rlhf", {{"advantage", "group_norm"}}),
              HasSubstr("the divergence would cost nothing"));
  EXPECT_EQ(refusal("ma-rlhf", {{"advantage", "group_norm"}}, {{"kl_reward_to", "rollout"}}),
            "accepted");
  for (const char* advantage : {"batch_whiten", "random_sign"})
    EXPECT_EQ(refusal("ma-rlhf", {{"advantage", advantage}}), "accepted") << advantage;
}

TEST(Overrides, RewardsThatTheLossDoesNotReadAreRefused) {
  for (const char* row :
       {"gdpo", "passk_training", "wgrpo", "disco", "drpo-decoupled-reward", "pacs", "real-labels",
        "psr-nsr-w-reinforce", "otr", "diversity-or-precision", "vopd", "on_policy_distillation"})
    for (const char* reward : {"overlong", "kl_in_reward", "majority_vote"})
      EXPECT_THAT(refusal(row, {{"reward", reward}}), HasSubstr("does not read the reward"))
          << row << " " << reward;
  EXPECT_THAT(refusal("bnpo", {{"reward", "overlong"}}, {{"components", "mean"}}),
              HasSubstr("each by itself"));
  for (const char* row : {"bnpo", "dypo", "chord", "raft", "trpa", "sppo", "kimi15", "nft"})
    EXPECT_EQ(refusal(row, {{"reward", "overlong"}}), "accepted") << row;
  EXPECT_EQ(refusal("vopd", {{"reward", "overlong"}}, {{"outcome_coef", "0.5"}}), "accepted");
  EXPECT_EQ(refusal("passk_training",
                    {{"reward", "entropy_controller"}, {"regularizer", "adaptive_entropy"}}),
            "accepted")
      << "it pays nothing";
}

/// What is accepted reaches the loss: on some step a penalty for length changes it.
TEST(Overrides, RewardsThatAreAcceptedReachTheLoss) {
  const Settings shaped{{"reward", "overlong"}};
  const auto with = [](const char* penalty) {
    return Settings{{"overlong_share", "1"}, {"overlong_penalty", penalty}};
  };
  for (const auto& recipe : recipes()) {
    const std::string name(recipe.name);
    if (refusal(name, shaped, with("7")) != "accepted") continue;
    const Objective one(name, shaped, with("7")), other(name, shaped, with("0"));
    bool differs = false;
    for (std::uint32_t seed = 0; seed < 20 && !differs; ++seed) {
      const PlainStep step = random_step({5, 4, 3}, seed, 0.3);
      const auto loss_of = [&](const Objective& o) {
        return o.evaluate(*o.prepare(step.columns()), step.micro_batch(step.all()));
      };
      const MicroBatchLoss a = loss_of(one), b = loss_of(other);
      differs = !at::equal(a.dlogprob, b.dlogprob) || a.loss != b.loss;
    }
    EXPECT_TRUE(differs) << name << ": overlong is accepted and changes nothing";
  }
}

TEST(Overrides, WhatReplacesTheRewardComesFirst) {
  EXPECT_THAT(refusal("grpo", {{"reward", "overlong+components"}}),
              HasSubstr("what overlong makes of it would be lost"));
  EXPECT_THAT(refusal("ttrl", {{"reward", "repetition+majority_vote+overlong"}}),
              HasSubstr("name majority_vote first"));
  EXPECT_THAT(refusal("grpo", {{"reward", "flawed+cosine_length"}}), HasSubstr("would be lost"));
  EXPECT_EQ(refusal("grpo", {{"reward", "components+overlong"}}), "accepted");
  EXPECT_EQ(refusal("grpo", {{"reward", "entropy_controller+majority_vote"},
                             {"regularizer", "adaptive_entropy"}}),
            "accepted")
      << "nothing is lost";
}

TEST(Overrides, HalvesOfPairsAreRefused) {
  const auto without = [](const std::string& row, const Settings& pieces,
                          const std::string& other) {
    EXPECT_THAT(refusal(row, pieces), HasSubstr("is chosen without " + other)) << row;
  };
  without("grpo", {{"regularizer", "adaptive_entropy"}}, "reward entropy_controller");
  without("skywork_or1", {{"regularizer", "none"}}, "regularizer adaptive_entropy");
  without("grpo", {{"regularizer", "entropy_band"}}, "reward entropy_history");
  without("grpo", {{"reward", "entropy_history"}}, "regularizer entropy_band");
  without("grpo", {{"reward", "kl_controller"}}, "regularizer kl");
  without("ppo", {{"regularizer", "none"}}, "regularizer value");
  without("grpo", {{"advantage", "macro_gae"}}, "regularizer value");
}

TEST(Overrides, AControllerStartsTheCoefficient) {
  for (const char* key : {"kl_coef", "regularizer.kl_coef", "kl_coef_end"})
    EXPECT_THAT(refusal("ppo_kl_penalty", {}, {{key, "0.2"}}),
                HasSubstr("the controller sets the coefficient"))
        << key;
  const PlainStep step = random_step({3, 2}, 4, 0.3);
  const auto loss = [&](const Objective& o) {
    return o.evaluate(*o.prepare(step.columns()), step.micro_batch(step.all()))
        .sums.at("actor/kl_loss");
  };
  const Objective row("ppo_kl_penalty"), weaker("ppo_kl_penalty", {}, {{"kl_start", "0.25"}});
  EXPECT_DOUBLE_EQ(loss(weaker), 0.25 * loss(row)) << "from the first update on";
}

TEST(Overrides, BaselinesOfTheVerifiersRewardRefuseAnother) {
  for (const char* row : {"remax", "spo-single-stream", "mssr", "a-lol", "v0-5"}) {
    EXPECT_THAT(refusal(row, {{"reward", "overlong"}}),
                HasSubstr("on the scale of the verifier's reward"))
        << row;
    EXPECT_EQ(refusal(row), "accepted") << row;
  }
  EXPECT_EQ(refusal("remax", {{"reward", "overlong"}}, {{"baseline", "group"}}), "accepted");
}

TEST(Overrides, AShortModeNeedsAToken) {
  EXPECT_THAT(refusal("thinkless-degrpo", {}, {{"short_token", "-1"}}), HasSubstr("lies outside"));
  EXPECT_EQ(Objective("thinkless-degrpo").unset(), std::vector<std::string>{"reward.short_token"});
}

TEST(Overrides, ShortAndLongKnobNamesAreTheSame) {
  const Objective by_name("grpo", {}, {{"clip_low", "0.1"}}),
      by_key("grpo", {}, {{"surrogate.clip_low", "0.1"}});
  EXPECT_EQ(by_name.describe(), by_key.describe());
  EXPECT_THAT(by_name.describe(), HasSubstr("0.1 "));
}

TEST(Overrides, ARowsOwnSettingGoesWithItsPiece) {
  EXPECT_THAT(Objective("dapo").describe(), HasSubstr("0.28"));
  EXPECT_EQ(refusal("dapo", {{"surrogate", "reinforce"}}), "accepted");
  EXPECT_THAT(refusal("dapo", {{"surrogate", "reinforce"}}, {{"clip_high", "0.3"}}),
              HasSubstr("no chosen piece has a knob"));
}

TEST(Overrides, AnOverriddenRecipeIsTheOtherRecipe) {
  // dr_grpo is grpo with two pieces replaced.
  const PlainStep step = random_step({3, 2}, 4, 0.3);
  const auto loss = [&](const Objective& o) {
    return o.evaluate(*o.prepare(step.columns()), step.micro_batch(step.all())).loss;
  };
  EXPECT_EQ(loss(Objective("dr_grpo")),
            loss(Objective("grpo", {{"advantage", "group_center"},
                                    {"aggregate", "seq-mean-token-sum-norm"}})));
}

TEST(Overrides, OptionalColumnsAreAskedForByName) {
  const Objective with_kl("grpo", {{"regularizer", "kl"}}),
      anchored("grpo", {{"regularizer", "kl"}}, {{"kl_anchor", "old"}});
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
  for (const auto& name : recipe_names())
    EXPECT_THAT(Objective(name).describe(), HasSubstr("advantage"));
  for (const auto& card : piece_cards()) EXPECT_FALSE(card.formula.empty()) << card.name;
}

}  // namespace
}  // namespace rollcall::objective::test
