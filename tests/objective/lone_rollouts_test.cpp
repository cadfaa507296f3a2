// What a rollout teaches that is its prompt's only one, found by trial.
#include "objective/lone_rollouts.hpp"
#include "objective/recipes.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using method::LoneRollouts;

TEST(LoneRollouts, TeachByTheirPlainRewardWhereOthersAreCompared) {
  for (const char* advantage : {"group_norm", "group_center", "leave_one_out"})
    EXPECT_EQ(lone_rollouts(Objective("grpo", {{"advantage", advantage}})),
              LoneRollouts::teach_plainly)
        << advantage;
}

TEST(LoneRollouts, TeachNothingWhereTheirAdvantageIsAlwaysZero) {
  for (const char* advantage : {"pass_at_k", "win_rate"})
    EXPECT_EQ(lone_rollouts(Objective("grpo", {{"advantage", advantage}})),
              LoneRollouts::teach_nothing)
        << advantage;
  const Objective held("grpo", {{"advantage", "win_rate"}, {"regularizer", "kl"}});
  EXPECT_EQ(lone_rollouts(held), LoneRollouts::teach_nothing)
      << "a pull to the reference is no verdict's";
}

TEST(LoneRollouts, TeachAsOthersWhereAPromptsRolloutsAreNotCompared) {
  for (const char* advantage : {"fixed_baseline", "batch_whiten"})
    EXPECT_EQ(lone_rollouts(Objective("grpo", {{"advantage", advantage}})),
              LoneRollouts::teach_as_others)
        << advantage;
  EXPECT_EQ(lone_rollouts(Objective("ppo")), LoneRollouts::teach_as_others);
}

/// A trial that fails would count as one that compares nothing.
TEST(LoneRollouts, CanBeTriedOnEveryPlainRowOfGroupNorm) {
  int rows = 0;
  for (const Recipe& recipe : recipes()) {
    using method::Family;
    const bool plain = recipe.piece(Family::reward) == "none" &&
                       recipe.piece(Family::surrogate) == "clip" &&
                       recipe.piece(Family::weight) == "none";
    if (!plain || recipe.piece(Family::advantage) != "group_norm") continue;
    EXPECT_EQ(lone_rollouts(Objective(std::string(recipe.name))), LoneRollouts::teach_plainly)
        << recipe.name;
    ++rows;
  }
  EXPECT_GT(rows, 5);
}

}  // namespace
}  // namespace rollcall::objective::test
