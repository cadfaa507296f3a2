// What a scheduler hears of a recipe: its reward before it is normalised and before the price of a
// divergence.
#include "objective/reward_sight.hpp"
#include "objective/objective.hpp"
#include "objective/pieces.hpp"
#include "plain_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

TEST(RewardSight, KnowsEveryPieceOfReward) {
  for (const auto& piece : objective::rewards())
    EXPECT_NO_THROW(sight_of(piece.name)) << piece.name;
  EXPECT_THROW(sight_of("none_such"), std::logic_error);
}

TEST(RewardSight, IsTheVerifiersWhereNoPiecePays) {
  const PlainStep step = random_step({3, 2}, 1, 0.3);
  for (const auto* recipe : {"grpo", "dapo", "rloo_kl", "skywork_or1", "ppo_kl_penalty"}) {
    const Objective objective(recipe);
    EXPECT_TRUE(objective.pays_verifiers()) << recipe;
    EXPECT_TRUE(at::equal(objective.rewards(step.columns()), step.columns().reward)) << recipe;
  }
}

TEST(RewardSight, SumsWhatIsStandardisedApart) {
  auto columns = random_step({2, 2}, 1, 0.3).columns();
  std::erase_if(columns.named,
                [](const auto& column) { return column.first.starts_with("component/"); });
  columns.named["component/correct"] = at::tensor({1.0, 0.0, 0.0, 0.0}, at::kDouble);
  columns.named["component/short"] = at::tensor({0.0, 1.0, 1.0, 0.0}, at::kDouble);
  const Objective gdpo("gdpo", {}, {{"component_weights", "short=0.5"}});
  EXPECT_FALSE(gdpo.pays_verifiers());
  EXPECT_TRUE(at::equal(gdpo.rewards(columns), at::tensor({1.0, 0.5, 0.5, 0.0}, at::kDouble)));
  EXPECT_TRUE(Objective("bnpo").pays_verifiers());
  const Objective bnpo("bnpo", {}, {{"components", "mean"}});
  EXPECT_TRUE(at::equal(bnpo.rewards(columns), at::tensor({0.5, 0.5, 0.5, 0.0}, at::kDouble)));
}

/// A reward that holds more than the verdict does not say which groups teach where the loss reads
/// the verdict alone.
TEST(RewardSight, IsTheVerdictWhereTheLossReadsIt) {
  auto columns = random_step({2, 2}, 1, 0.3).columns();
  columns.reward = at::tensor({1.25, 1.0, 0.25, 0.0}, at::kDouble);  // with the form's share
  columns.named["correct"] = at::tensor({1.0, 1.0, 0.0, 0.0}, at::kDouble);
  for (const auto* recipe : {"disco", "drpo-decoupled-reward", "pacs", "real-labels",
                             "passk_training", "wgrpo", "psr-nsr-w-reinforce"}) {
    const Objective objective(recipe);
    EXPECT_FALSE(objective.pays_verifiers()) << recipe;
    EXPECT_TRUE(at::equal(objective.rewards(columns), columns.named.at("correct"))) << recipe;
  }
  EXPECT_TRUE(Objective("otr").pays_verifiers()) << "verdicts do not enter its loss at all";
}

/// Rewards that differ teach nothing in a group that the loss leaves out for another reason.
TEST(RewardSight, IsEqualInGroupsThatTheLossLeavesOut) {
  auto columns = random_step({2, 2, 2, 2}, 1, 0.3).columns();
  columns.reward = at::tensor({1.5, 1.0, 1.5, 0.25, 0.5, 0.0, 1.0, 1.0}, at::kDouble);
  columns.named["correct"] = at::tensor({1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, at::kDouble);
  columns.named["expert"] = at::zeros({8}, at::kDouble);
  const Objective dypo("dypo");
  EXPECT_FALSE(dypo.pays_verifiers());
  EXPECT_TRUE(at::equal(dypo.rewards(columns),
                        at::tensor({1.0, 1.0, 1.5, 0.25, 0.0, 0.0, 1.0, 0.0}, at::kDouble)))
      << "all right, mixed, all wrong, and a pair of equal rewards that the contrast teaches";
  columns.named["expert"] = at::tensor({0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0}, at::kDouble);
  EXPECT_TRUE(at::equal(dypo.rewards(columns).slice(0, 2, 4), at::tensor({1.0, 0.0}, at::kDouble)))
      << "an expert's text does not make a prompt mixed";

  EXPECT_TRUE(at::equal(Objective("raft").rewards(columns),
                        at::tensor({1.5, 1.0, 1.5, 0.25, 0.0, 0.0, 1.0, 1.0}, at::kDouble)))
      << "the best of wrong answers teaches nothing";

  columns.reward = columns.named["correct"];
  const Objective unlikely("unlikeliness"), shaped("unlikeliness", {}, {{"equal_by", "shaped"}});
  EXPECT_FALSE(unlikely.pays_verifiers());
  const at::Tensor heard = unlikely.rewards(columns), plain = shaped.rewards(columns);
  EXPECT_FALSE(at::equal(plain[0], plain[1])) << "the likelier of two right answers is paid less";
  EXPECT_TRUE(at::equal(heard.slice(0, 0, 2), at::tensor({1.0, 1.0}, at::kDouble)))
      << "its group is dropped by the verifier's rewards";
  EXPECT_TRUE(at::equal(heard.slice(0, 2, 8), plain.slice(0, 2, 8)));
  EXPECT_TRUE(Objective("unlikeliness", {{"reward", "none"}}).pays_verifiers());
  EXPECT_TRUE(Objective("nft").pays_verifiers());
}

TEST(RewardSight, KnowsWhatReplacesAndWhatLeavesTheRewardAlone) {
  const auto columns = random_step({5, 4, 3}, 1, 0.3).columns();
  for (const auto& piece : objective::rewards()) {
    Knobs knobs;
    knobs.enter("reward", piece.name);
    const RewardFunction function = piece.make(knobs);
    Step step(columns), other(columns);
    other.reward = other.reward + 3.0 * at::arange(other.shape.rollouts, at::kDouble);
    const at::Tensor one = function(step).reward, two = function(other).reward;
    if (!one.defined()) {
      EXPECT_NE(effect_of(piece.name), Effect::replaces) << piece.name;
      continue;
    }
    // Every rollout violates a constraint, and what it was paid before is gone.
    if (effect_of(piece.name) == Effect::changes && at::equal(one, at::zeros_like(one))) continue;
    EXPECT_EQ(effect_of(piece.name) == Effect::replaces, at::equal(one, two))
        << piece.name << ": a reward that is replaced is not read";
    EXPECT_NE(effect_of(piece.name), Effect::leaves) << piece.name;
  }
}

TEST(RewardSight, LeavesNormalisationOutAndNamesWhatComesLate) {
  const PlainStep step = random_step({4}, 2, 0.3);
  const Objective shaped("dapo", {{"reward", "length_target+moving_norm"}}, {}),
      plain("dapo", {{"reward", "length_target"}}, {});
  EXPECT_TRUE(at::equal(shaped.rewards(step.columns()), plain.rewards(step.columns())));
  EXPECT_FALSE(at::equal(shaped.rewards(step.columns()), step.columns().reward));
  EXPECT_TRUE(shaped.late_rewards().empty());
  EXPECT_EQ(Objective("grpo", {{"reward", "kl_limit+overlong"}}, {}).late_rewards(),
            std::vector<std::string>{"kl_limit"});
}

}  // namespace
}  // namespace rollcall::objective::test
