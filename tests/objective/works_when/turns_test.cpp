// What the papers on turns promise, and the two-worlds test: the same rollouts under other rewards
// of turns.
#include "objective/recipes.hpp"
#include "objective/reward/gold_gain.hpp"
#include "objective/token_advantages.hpp"
#include "properties.hpp"
#include "works_when/small_step.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rollcall::objective::test {
namespace {

/// A conversation of the first prompt, of turns with one token each; its reward is their sum.
PlainRollout conversation(const std::vector<PlainTurn>& turns, std::size_t tokens = 1) {
  PlainRollout r;
  for (const PlainTurn& turn : turns) r.reward += turn.reward;
  r.correct = r.reward > 0 ? 1.0 : 0.0;
  for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
    column->assign(turns.size() * tokens, std::log(0.5));
  r.entropy.assign(turns.size() * tokens, 1.0);
  r.turns = turns;
  for (PlainTurn& turn : r.turns) turn.length = tokens;
  return r;
}

PlainTurn turn(double reward, std::int64_t state = 0, std::int64_t kind = 0) {
  return {1, reward, state, kind, 0, -1.0};
}

/// Advantages of all tokens under a recipe.
Column of(const PlainStep& step, const std::string& recipe, const Settings& knobs = {}) {
  const Objective objective(recipe, {}, knobs);
  return token_advantages(*objective.prepare(step.columns()));
}

TEST(WorksWhen, gigpo_compares_what_was_done_in_one_state) {
  PlainStep step{{conversation({turn(0, 1), turn(1, 2)}), conversation({turn(0, 1), turn(0, 3)})}};
  const Settings steps_alone{{"turn_gamma", "1"}, {"outcome_weight", "0"}};
  EXPECT_TRUE(near(of(step, "gigpo", steps_alone), {0.5, 0.0, -0.5, 0.0}));
  EXPECT_TRUE(near(of(step, "gigpo", {{"turn_weight", "0"}}), {0.5, 0.5, -0.5, -0.5}))
      << "without it, the outcome against the group";
}

/// The deaf control: where no state is seen twice, the turns say nothing at all.
TEST(WorksWhen, gigpo_of_unique_states_is_its_outcome_to_the_bit) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = in_turns(any_step());
    std::int64_t state = 0;
    for (auto& r : step.rollouts) {
      r.state = ++state;
      for (PlainTurn& one : r.turns) one.state = ++state;
    }
    const Result deaf = evaluate(Objective("gigpo"), step),
                 none = evaluate(Objective("gigpo", {}, {{"turn_weight", "0"}}), step);
    RC_ASSERT(deaf.loss == none.loss && deaf.derivative == none.derivative);
  }));
}

TEST(WorksWhen, dr_kernel_leaves_the_turn_itself_out) {
  PlainStep step{{conversation({turn(1)}), conversation({turn(0)}), conversation({turn(0)})}};
  EXPECT_TRUE(near(of(step, "dr-kernel-trloo"), {1.0, -0.5, -0.5}));
  step.rollouts[0] = conversation({turn(0), turn(1)});
  EXPECT_TRUE(near(of(step, "dr-kernel-trloo"), {1.0, 1.0, -0.5, -0.5}))
      << "a second turn that no other rollout has keeps its return";
}

TEST(WorksWhen, mapo_is_either_score_where_the_other_weighs_nothing) {
  const PlainStep step = in_turns(random_step({4, 3}, 5, 0.0));
  const Column both = of(step, "mapo-dialogue"),
               turns = of(step, "mapo-dialogue", {{"turn_weight", "1"}, {"whole_weight", "0"}}),
               whole = of(step, "mapo-dialogue", {{"turn_weight", "0"}, {"whole_weight", "1"}});
  ASSERT_FALSE(near(turns, whole));
  for (std::size_t t = 0; t < both.size(); ++t)
    EXPECT_NEAR(both[t], (turns[t] + whole[t]) / 2, 1e-12);
}

TEST(WorksWhen, matchtir_is_the_mean_of_both_scores) {
  const PlainStep step = in_turns(random_step({4, 3}, 6, 0.0));
  const Column both = of(step, "matchtir"),
               turns = of(step, "matchtir", {{"turn_weight", "1"}, {"outcome_weight", "0"}}),
               outcome = plain_advantage("group_norm", step);
  ASSERT_FALSE(near(turns, outcome));
  for (std::size_t t = 0; t < both.size(); ++t)
    EXPECT_NEAR(both[t], (turns[t] + outcome[t]) / 2, 1e-12);
}

/// The first two rollouts share the present state alone, the first and the third two states.
TEST(WorksWhen, hgpo_weighs_longer_histories_more) {
  const PlainStep step{{conversation({turn(0, 1), turn(1, 2)}),
                        conversation({turn(0, 3), turn(0, 2)}),
                        conversation({turn(0, 1), turn(0, 2)})}};
  const Column a = of(step, "hgpo", {{"turn_centre", "mean"}});
  EXPECT_TRUE(near(a, {0.475, 2.0 / 5 * 2 / 3 + 3.0 / 5 / 2, 0.0, -1.0 / 3, -0.475,
                       -2.0 / 5 / 3 - 3.0 / 5 / 2}));
}

TEST(WorksWhen, rlvmr_compares_turns_of_one_kind) {
  const PlainStep step{
      {conversation({turn(1, 0, 2), turn(0, 0, 2)}), conversation({turn(0, 0, 2), turn(1, 0, 2)})}};
  EXPECT_TRUE(near(of(step, "rlvmr"), {0.5, -0.5, -0.5, 0.5})) << "the outcomes are equal";
  PlainStep other = step;
  other.rollouts[1].turns[1].kind = 3;
  EXPECT_TRUE(near(of(other, "rlvmr"), {2.0 / 3, -1.0 / 3, -1.0 / 3, 1.0}))
      << "a kind of one turn keeps its score";
}

TEST(WorksWhen, ui_s1_returns_end_at_a_patched_turn) {
  PlainStep step{
      {conversation({turn(1), turn(0), turn(1)}), conversation({turn(0), turn(0), turn(0)})}};
  const Settings steps_alone{{"outcome_weight", "0"}};
  EXPECT_TRUE(near(of(step, "ui-s1", steps_alone), {0.625, 0.25, 0.5, -0.625, -0.25, -0.5}));
  step.rollouts[0].turns[1].flags = turn_flag::patched;
  EXPECT_TRUE(near(of(step, "ui-s1", steps_alone), {0.5, 0.0, 0.5, -0.5, 0.0, -0.5}));
}

TEST(WorksWhen, igpo_pays_what_a_turn_adds_to_the_chance_of_the_answer) {
  PlainStep step{
      {conversation({turn(0), turn(0), turn(0)}), conversation({turn(0), turn(0), turn(0)})}};
  for (auto& r : step.rollouts) r.gold_before = std::log(0.1);
  step.rollouts[0].turns[0].gold = std::log(0.4), step.rollouts[0].turns[1].gold = std::log(0.3);
  for (PlainTurn& one : step.rollouts[1].turns) one.gold = std::log(0.1);
  const ShapedReward paid = GoldGain{}(Step(step.columns()));
  EXPECT_FALSE(paid.reward.defined()) << "a scheduler hears the verifier";
  EXPECT_TRUE(near(values(paid.turn_reward), {0.3, -0.1, 0.0, 0.0, 0.0, 0.0}));
  const Column derivative = evaluate(Objective("igpo"), step).derivative;
  EXPECT_LT(derivative[0], 0.0) << "a group that is all wrong has a gradient";
  EXPECT_GT(derivative[3], 0.0);
  for (const double d : evaluate(Objective("igpo", {}, {{"gold_weight", "0"}}), step).derivative)
    EXPECT_EQ(d, 0.0);
}

/// A turn before the last earns its gain and not what the environment paid for it. The last turn
/// has the rollout's whole reward. Gains 0.3 and 0, outcomes 1/2 and 0.
TEST(WorksWhen, igpo_pays_the_gain_in_place_of_the_turns_pay) {
  PlainStep step{{conversation({turn(0.5), turn(0)}), conversation({turn(-1), turn(1)})}};
  for (auto& r : step.rollouts) r.gold_before = std::log(0.1);
  for (PlainTurn& one : step.rollouts[0].turns) one.gold = std::log(0.4);
  for (PlainTurn& one : step.rollouts[1].turns) one.gold = std::log(0.1);
  // Rewards 0.3, 0.5, 0, 0: mean 0.2, squares 0.18 over 3.
  const double spread = std::sqrt(0.06) + 1e-6;
  const Column a = of(step, "igpo", {{"turn_gamma", "0"}});
  EXPECT_TRUE(near(a, {0.1 / spread, 0.3 / spread, -0.2 / spread, -0.2 / spread}));
}

/// Turns of which the one rollout has z-score 1 and the other -1: their sums over the square root of
/// the number of terms. The first three earn their gains, the last one the outcome.
TEST(WorksWhen, a2tgpo_sums_keep_their_size) {
  const auto four = [](double outcome, double before, double gain) {
    PlainRollout r = conversation({turn(0), turn(0), turn(0), turn(outcome)});
    r.gold_before = std::log(before);
    for (std::size_t k = 0; k < 4; ++k)
      r.turns[k].gold = std::log(before + gain * double(std::min<std::size_t>(k + 1, 3)));
    return r;
  };
  const PlainStep step{{four(1.0, 0.1, 0.1), four(-1.0, 0.4, -0.1)}};
  const double z = 1 / std::sqrt(2.0);  // 1 over the spread of 1 and -1
  const Column a = of(step, "a2tgpo", {{"adv_eps", "1e-12"}});
  EXPECT_TRUE(near(Column(a.begin(), a.begin() + 4),
                   {2 * z, std::sqrt(3.0) * z, std::sqrt(2.0) * z, z}, 1e-9));
}

/// The same rewards of rollouts, of which nothing is paid before the last turn.
PlainStep paid_at_the_end(PlainStep step) {
  for (auto& r : step.rollouts)
    for (std::size_t k = 0; k < r.turns.size(); ++k)
      r.turns[k].reward = k + 1 < r.turns.size() ? 0.0 : r.reward;
  return step;
}

TEST(WorksWhen, turn_center_equals_its_plain_loops_over_conversations) {
  for (const Recipe& recipe : recipes()) {
    const auto reward = recipe.piece(Family::reward);
    if (recipe.piece(Family::advantage) != "turn_center" || reward == "coverage") continue;
    Settings knobs;
    if (reward == "gold_gain") knobs.emplace_back("gold_weight", "0");
    if (reward == "progress") knobs.emplace_back("progress_alpha", "0");
    bool spoke = false;
    EXPECT_TRUE(rc::check(std::string(recipe.name), [&] {
      const PlainStep step = in_turns(any_step());
      const Column got = of(step, std::string(recipe.name), knobs);
      spoke = spoke || !near(got, plain_advantage("group_center", step));
      RC_ASSERT(near(
          got,
          plain_prepare(recipe, reward == "gold_gain" ? paid_at_the_end(step) : step).advantage,
          1e-9));
    }));
    EXPECT_TRUE(spoke) << recipe.name;
  }
}

/// Two conversations of two long turns in the same two states. In one world the first turn of the
/// better one is paid, in the other its second: rewards of rollouts are the same.
PlainStep world(bool first) {
  PlainStep step{{conversation({turn(first ? 1 : 0, 1), turn(first ? 0 : 1, 2)}, 6),
                  conversation({turn(0, 1), turn(0, 2)}, 6)}};
  step.horizon = 20.0;
  for (std::size_t i = 0; i < 2; ++i) {
    auto& r = step.rollouts[i];
    r.components = {{"correct", r.correct}, {"format", 1.0}, {"sound", 1.0}, {"votes", r.correct},
                    {"match", r.correct},   {"masked", 0.0}, {"cost", 1.0}};
    r.answer = double(i), r.key = std::int64_t(i) + 1;
  }
  return step;
}

TEST(WorksWhen, rewards_of_turns_reach_those_that_read_turns_and_no_others) {
  const std::set<std::string_view> readers{"turn_center", "gae", "macro_gae", "batch_whiten",
                                           "action_reward"};
  // A reward piece of theirs takes the place of what turns were paid.
  const std::set<std::string_view> replaced{"igpo",
                                            "a2tgpo",
                                            "subpo",
                                            "ufo-try-again",
                                            "router-r1",
                                            "carl-driving",
                                            "demystify-long-cot",
                                            "rm-ensemble-wco-uwo"};
  for (const Recipe& recipe : recipes()) {
    const Objective objective{std::string(recipe.name)};
    const Column one = evaluate(objective, world(true)).derivative,
                 other = evaluate(objective, world(false)).derivative;
    if (readers.contains(recipe.piece(Family::advantage)) && !replaced.contains(recipe.name))
      EXPECT_FALSE(near(one, other)) << recipe.name << " reads rewards of turns";
    else EXPECT_EQ(one, other) << recipe.name << " reads the reward of the rollout alone";
  }
}

TEST(WorksWhen, rewards_of_turns_are_refused_where_nothing_reads_them) {
  try {
    Objective("grpo", {{"reward", "gold_gain"}});
    FAIL() << "gains of turns would be lost";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("reads no rewards of turns"));
  }
  EXPECT_NO_THROW(Objective("reinforce_plus_plus", {{"reward", "gold_gain"}}));
  EXPECT_THROW(Objective("gigpo", {}, {{"turn_spread", "sqrt"}}), ConfigError);
}

/// Reward 1 for the first turn and 0 for the second: tokens of the first return 1, of the second 0.
TEST(WorksWhen, reinforce_plus_plus_returns_begin_where_turns_are_paid) {
  const PlainStep step{{conversation({turn(1), turn(0)}), conversation({turn(0), turn(1)})}};
  const Column a = of(step, "reinforce_plus_plus");
  // Returns 1, 0, 1, 1: mean 3/4, spread sqrt(3) / 4.
  const double up = 0.25 / (std::sqrt(3.0) / 4), down = -0.75 / (std::sqrt(3.0) / 4);
  EXPECT_TRUE(near(a, {up, down, up, up}, 1e-6));
}

}  // namespace
}  // namespace rollcall::objective::test
