// Rewards that only the order of a sum tells apart are equal to every piece.
#include "evaluate_step.hpp"
#include "objective/objective.hpp"
#include "objective/recipes.hpp"
#include "works_when/small_step.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::objective::test {
namespace {

/// One prompt, whose four answers are paid the same but for the order in which three terms were
/// added.
PlainStep permuted() {
  const double one = .1 + .2 + .3, other = .3 + .2 + .1;
  EXPECT_NE(one, other) << "rounding must tell them apart, or this shows nothing";
  return answers({{0, one}, {0, other}, {0, one}, {0, other}});
}

void expect_silent(const std::string& recipe, const Settings& pieces = {}) {
  const Result result = evaluate(Objective(recipe, pieces), permuted());
  for (const double d : result.derivative)
    EXPECT_LT(std::abs(d), 1e-6) << recipe << " learns from rounding";
}

TEST(Rounding, TeachesNothing) {
  for (const char* recipe : {"grpo", "dapo", "grpo_passk", "gpg", "mc-grpo", "red_drop",
                             "online_dpo", "ipo_online", "scalerl", "nft"})
    expect_silent(recipe);
  expect_silent("grpo", {{"advantage", "win_rate"}});
  expect_silent("dars");
}

TEST(Rounding, IsNoPreference) {
  const Result rounded = evaluate(Objective("sppo"), permuted()),
               equal = evaluate(Objective("sppo"), answers({{0, .6}, {0, .6}, {0, .6}, {0, .6}}));
  EXPECT_EQ(rounded.derivative, equal.derivative);
}

TEST(Rounding, DropsTheGroup) {
  const PlainStep step = permuted();
  const Objective objective("dars");
  EXPECT_EQ(evaluate(objective, step).loss, 0.0);
}

TEST(Rounding, LeavesBestAnswersEven) {
  const Result result = evaluate(Objective("raft"), permuted());
  for (const double d : result.derivative)
    EXPECT_EQ(d, result.derivative.front()) << "all four are the best of their group";
  EXPECT_NE(result.derivative.front(), 0.0);
}

/// Groups are dropped by what trains: the length's share of the reward is a difference.
TEST(EqualRewards, AreTheShapedOnes) {
  PlainStep step = answers({{0, 1.0, 2}, {0, 1.0, 20}}, 20.0);
  const auto share = [&](const Settings& knobs) {
    double all = 0.0;
    for (const double d :
         evaluate(
             Objective("dapo", {{"reward", "overlong"}, {"weight", "drop_equal_reward"}}, knobs),
             step)
             .derivative)
      all += std::abs(d);
    return all;
  };
  EXPECT_GT(share({}), 0.0);
  EXPECT_EQ(share({{"equal_by", "verifier"}}), 0.0);
  EXPECT_NE(Objective("entropy-80-20").describe().find("verifier"), std::string::npos);
}

}  // namespace
}  // namespace rollcall::objective::test
