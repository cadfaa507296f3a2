// What the papers on tool calls, second attempts, shared steps and visited states promise.
#include "core/derivation.hpp"
#include "objective/reward/coverage.hpp"
#include "objective/reward/few_calls.hpp"
#include "objective/reward/progress.hpp"
#include "objective/reward/retries.hpp"
#include "objective/reward/routed_cost.hpp"
#include "objective/reward_sight.hpp"
#include "objective/token_advantages.hpp"
#include "properties.hpp"
#include "works_when/small_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

/// A conversation of the first prompt, of turns with one token each, all of probability 1/2; its
/// reward is their sum.
PlainRollout conversation(const std::vector<PlainTurn>& turns) {
  PlainRollout r;
  for (const PlainTurn& turn : turns) r.reward += turn.reward;
  r.correct = r.reward > 0 ? 1.0 : 0.0;
  for (auto* column : {&r.now, &r.old, &r.rollout, &r.reference})
    column->assign(turns.size(), std::log(0.5));
  r.entropy.assign(turns.size(), 1.0);
  r.turns = turns;
  return r;
}

PlainTurn turn(double reward) {
  PlainTurn one;
  one.reward = reward;
  return one;
}
PlainTurn call() {
  PlainTurn one;
  one.kind = 1;
  return one;
}
PlainTurn flagged(std::int64_t flags) {
  PlainTurn one;
  one.flags = flags;
  return one;
}
PlainTurn step_of(std::int64_t state, std::int64_t action, std::int64_t next = 0,
                  double reward = 0.0) {
  PlainTurn one;
  one.state = state, one.action = action, one.next_state = next, one.reward = reward;
  return one;
}

Column advantage(const PlainStep& step, const std::string& recipe, const Settings& knobs = {}) {
  return token_advantages(*Objective(recipe, {}, knobs).prepare(step.columns()));
}
Column derivative(const PlainStep& step, const std::string& recipe, const Settings& knobs = {}) {
  return evaluate(Objective(recipe, {}, knobs), step).derivative;
}

TEST(WorksWhen, simpletir_a_void_turn_silences_its_rollout_and_no_other) {
  PlainStep step{{conversation({turn(0), turn(1)}), conversation({turn(0), turn(0)}),
                  conversation({turn(0), turn(0)})}};
  const Column before = derivative(step, "simpletir");
  step.rollouts[2].turns[0].flags = turn_flag::void_turn;
  const Column after = derivative(step, "simpletir");
  EXPECT_NE(before[4], 0.0);
  EXPECT_EQ(after[4], 0.0);
  EXPECT_EQ(after[5], 0.0);
  // Its reward counts in the mean; the others are four tokens and not six.
  for (std::size_t t = 0; t < 4; ++t) EXPECT_NEAR(after[t], before[t] * 6 / 4, 1e-12);
}

TEST(WorksWhen, simpletir_other_flags_are_other_settings) {
  const PlainStep step{{conversation({turn(1)}), conversation({flagged(turn_flag::error)})}};
  EXPECT_NE(derivative(step, "simpletir")[1], 0.0);
  EXPECT_EQ(derivative(step, "simpletir", {{"drop_flag", "error"}})[1], 0.0);
}

TEST(WorksWhen, salt_a_shared_step_has_the_mean_and_the_others_keep_theirs) {
  PlainStep step{{conversation({step_of(1, 1), step_of(2, 1, 0, 1.0)}),
                  conversation({step_of(1, 1), step_of(3, 1)})}};
  const Column a = advantage(step, "salt-trajectory-graph"), plain = advantage(step, "grpo");
  EXPECT_EQ(a[0], 0.0);
  EXPECT_EQ(a[2], 0.0);
  EXPECT_EQ(a[1], plain[1]);
  EXPECT_EQ(a[3], plain[3]);
}

/// The deaf control: where no two turns took the same action, nothing is shared.
TEST(WorksWhen, salt_without_shared_steps_is_grpo) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = in_turns(any_step());
    std::int64_t action = 0;
    for (auto& r : step.rollouts)
      for (PlainTurn& one : r.turns) one.action = ++action;
    const Result salt = evaluate(Objective("salt-trajectory-graph"), step),
                 grpo = evaluate(Objective("grpo"), step);
    RC_ASSERT(near(salt.derivative, grpo.derivative, 1e-12));
  }));
}

TEST(WorksWhen, otc_pays_the_fewest_calls_most) {
  const auto paid = [](const PlainStep& step, const FewCalls& piece = {}) {
    return values(piece(Step(step.columns())).reward);
  };
  PlainStep step{{conversation({call()}), conversation({call(), call()}),
                  conversation({call(), call(), call(), call()}), conversation({turn(0)})}};
  for (std::size_t i = 0; i < 3; ++i) step.rollouts[i].correct = 1.0;
  EXPECT_TRUE(near(paid(step), {1.0, 0.8660254, 0.5877853, 0.0}, 1e-7))
      << "a wrong answer earns nothing without any call";
  PlainStep none{{conversation({call(), call(), call()}), conversation({turn(1)})}};
  none.rollouts[0].correct = 1.0;
  EXPECT_TRUE(near(paid(none), {0.2225209, 1.0}, 1e-7));
}

TEST(WorksWhen, ufo_pays_late_answers_less_and_charges_repetitions) {
  const auto paid = [](const std::vector<PlainTurn>& turns, bool right) {
    PlainStep step{{conversation(turns)}};
    step.rollouts[0].correct = right ? 1.0 : 0.0;
    return values(Retries{}(Step(step.columns())).reward)[0];
  };
  EXPECT_NEAR(paid({turn(0), turn(0), turn(0)}, true), 0.25, 1e-12);
  EXPECT_NEAR(paid({turn(0), flagged(turn_flag::repeated), turn(0)}, true), 0.25 - 0.5 / 3, 1e-12);
  EXPECT_NEAR(paid({turn(0), flagged(turn_flag::repeated)}, false), -0.25, 1e-12);
  EXPECT_EQ(paid({flagged(turn_flag::invalid)}, false), 0.0) << "nothing that could be repeated";
}

TEST(WorksWhen, score_pays_what_the_second_attempt_gained) {
  const auto paid = [](double first, double second, const Progress& piece = {}) {
    const Step step(PlainStep{{conversation({turn(first), turn(second)})}}.columns());
    return values(step.turn_reward() + piece(step).turn_reward);
  };
  EXPECT_EQ(paid(0, 1), (Column{0, 11}));
  EXPECT_EQ(paid(1, 0), (Column{1, -10}));
  EXPECT_EQ(paid(1, 1), (Column{1, 1}));
  Progress stage_one;
  stage_one.first_pays = 0.0;
  EXPECT_EQ(paid(1, 1, stage_one), (Column{0, 1}));
  EXPECT_EQ(values(Progress{}(Step(PlainStep{{conversation({turn(1)})}}.columns())).turn_reward),
            (Column{0}));
}

TEST(WorksWhen, score_holds_the_first_attempt_by_its_own_weight) {
  PlainStep step{{conversation({turn(1), turn(1)})}};
  step.rollouts[0].reference = {std::log(0.25), std::log(0.25)};
  const Settings pieces{{"regularizer", "turn_kl"}, {"advantage", "group_center"}},
      knobs{{"turn_kl_first", "0.5"}, {"turn_kl_coef", "0.1"}};
  PlainStep none = step;
  none.rollouts[0].reference = step.rollouts[0].old;
  const Column held = evaluate(Objective("grpo", pieces, knobs), step).derivative,
               free = evaluate(Objective("grpo", pieces, knobs), none).derivative;
  // 1 - exp(reference - lp) = 1/2, over two tokens
  EXPECT_NEAR(held[0] - free[0], 0.5 * 0.5 / 2, 1e-12);
  EXPECT_NEAR(held[1] - free[1], 0.1 * 0.5 / 2, 1e-12);
}

TEST(WorksWhen, rltf_measures_refinements_by_the_answers_before) {
  PlainStep step = answers({{0, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 1}, {0, 0}});
  for (const std::size_t i : {4UL, 5UL}) step.rollouts[i].derived = double(DerivedKind::refinement);
  EXPECT_TRUE(near(advantage(step, "rltf"), {0.75, -0.25, -0.25, -0.25, 0.75, -0.25}));
}

TEST(WorksWhen, funrl_without_the_bonus_is_grpo_to_the_bit) {
  EXPECT_TRUE(rc::check([] {
    const PlainStep step = any_step();
    const Column none = derivative(step, "funrl", {{"shaping_coef", "0"}});
    RC_ASSERT(none == derivative(step, "grpo"));
  }));
}

TEST(WorksWhen, mashost_without_the_actions_is_grpo) {
  EXPECT_TRUE(rc::check([] {
    PlainStep step = in_turns(any_step());
    for (auto& r : step.rollouts)  // nothing is paid before the end
      for (std::size_t k = 0; k < r.turns.size(); ++k)
        r.turns[k].reward = k + 1 < r.turns.size() ? 0.0 : r.reward;
    RC_ASSERT(near(derivative(step, "mashost-hrpo"), derivative(step, "grpo"), 1e-12));
  }));
  // A useless action costs, where all outcomes are equal.
  const PlainStep step{{conversation({turn(-0.1), turn(1)}), conversation({turn(-0.1), turn(1)})}};
  EXPECT_TRUE(near(advantage(step, "mashost-hrpo"), {-0.1, 0.0, -0.1, 0.0}));
}

TEST(WorksWhen, infopo_learns_from_gains_where_outcomes_are_equal) {
  const double half = std::log(0.5);
  PlainStep step{{conversation({turn(0), turn(0)}), conversation({turn(0), turn(0)})}};
  EXPECT_TRUE(near(advantage(step, "infopo"), {0, 0, 0, 0})) << "feedback that changes nothing";
  step.rollouts[0].masked = {half, half - 0.4};
  const Column equal = advantage(step, "infopo");
  EXPECT_GT(equal[0], 0.7);
  EXPECT_LT(equal[2], -0.7);
  EXPECT_EQ(equal[1], 0.0);
  double before = equal[0];
  for (const double reward : {0.2, 0.6, 1.0}) {  // the gate closes as the outcomes part
    step.rollouts[1].turns[1].reward = step.rollouts[1].reward = reward;
    const Column a = advantage(step, "infopo");
    EXPECT_LT(a[0] - a[1], before) << reward;
    before = a[0] - a[1];
  }
}

TEST(WorksWhen, vppo_weights_have_the_mean_one_and_the_share_of_tokens_stays) {
  PlainStep step = answers({{0, 1, 5}, {0, 0, 5}});
  step.rollouts[0].masked = step.rollouts[1].masked = step.rollouts[0].old;
  EXPECT_EQ(derivative(step, "vppo"),
            evaluate(Objective("grpo", {{"aggregate", "token-mean"}}), step).derivative)
      << "where nothing was told";
  for (std::size_t t = 0; t < 5; ++t)
    step.rollouts[0].masked[t] -= 0.1 * double(t), step.rollouts[1].masked[t] += 0.2 * double(t);
  const Column d = derivative(step, "vppo");
  for (std::size_t t = 0; t < 10; ++t) EXPECT_EQ(d[t] != 0.0, t % 5 >= 3) << t;
  // a / 4 tokens times weights that sum to 2
  const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);
  EXPECT_NEAR(std::abs(d[3]) + std::abs(d[8]), 2 * a / 4, 1e-12);
}

TEST(WorksWhen, subpo_gains_sum_to_the_coverage_and_a_second_visit_earns_nothing) {
  const PlainStep step{{conversation({step_of(1, 1, 2), step_of(2, 1, 1), step_of(1, 2, 4)}),
                        conversation({step_of(1, 1, 1), step_of(1, 1, 3), step_of(3, 1, 3)})}};
  Step shaped(step.columns());
  const ShapedReward paid = Coverage{}(shaped);
  EXPECT_EQ(values(paid.reward), (Column{2, 1}));
  shaped.reward = paid.reward, shaped.turns.paid = paid.turn_reward;
  shaped.turns.replaced = replaces_turns("coverage", paid);
  EXPECT_EQ(values(shaped.turn_reward()), (Column{1, 0, 1, 0, 1, 0}));
  // Returns 2, 1, 1 and 1, 1, 0, each less that of the other.
  EXPECT_TRUE(near(advantage(step, "subpo"), {1.0, 0.0, 1.0, -1.0, 0.0, -1.0}));
}

/// The baseline b_j must not hold the rollout's own return: three returns of one turn, of which the
/// first is 1 and the others 0, are 1 and -1/2 above the others' means.
TEST(WorksWhen, subpo_has_the_mean_of_the_others_as_its_baseline) {
  const PlainStep step{{conversation({step_of(1, 1, 2)}), conversation({step_of(1, 1, 1)}),
                        conversation({step_of(1, 2, 1)})}};
  EXPECT_TRUE(near(advantage(step, "subpo"), {1.0, -0.5, -0.5}));
}

TEST(WorksWhen, epo_has_a_history_of_each_turn) {
  PlainStep step{{conversation({turn(0), turn(1)}), conversation({turn(0)})}};
  step.rollouts[0].old_entropy = {1.0, 4.0}, step.rollouts[1].old_entropy = {3.0};
  const Objective objective("epo-entropy-smoothing");
  step.statistics = Objective::statistics(*objective.prepare(step.columns()));
  EXPECT_EQ(step.statistics.at("entropy_history"), 2.0) << "first turns of entropy 1 and 3";
  EXPECT_EQ(step.statistics.at("entropy_history/1"), 4.0);
  // Bands 1.6 to 2.4 and 3.2 to 4.8: a first turn of entropy 4 is outside, a second one is not.
  step.rollouts[0].entropy = {4.0, 4.0}, step.rollouts[1].entropy = {2.0};
  const double charged = evaluate(objective, step).metrics.at("actor/entropy_band_loss");
  EXPECT_NEAR(charged, -0.001 * (10.0 - 0.1) / 3, 1e-12);
}

TEST(WorksWhen, aepo_keeps_the_derivative_of_the_upper_bound_and_the_value_of_clip) {
  for (const double ratio : {1.5, 1.1, 0.9, 0.5}) {
    PlainStep step = answers({{0, 1}, {0, 0}});
    for (auto& r : step.rollouts) r.now = {std::log(0.5 * ratio)};
    const Result aepo = evaluate(Objective("aepo"), step), arpo = evaluate(Objective("arpo"), step);
    EXPECT_NEAR(aepo.loss, arpo.loss, 1e-12) << ratio;
    const double a = 0.5 / (1 / std::sqrt(2.0) + 1e-6);
    EXPECT_NEAR(aepo.derivative[0], -a / 2 * std::min(ratio, 1.2), 1e-12) << ratio;
    EXPECT_NEAR(aepo.derivative[1], ratio < 0.8 ? 0.0 : a / 2 * ratio, 1e-12) << ratio;
  }
}

TEST(WorksWhen, a2tgpo_lets_informative_turns_move_further) {
  PlainStep step{{conversation({turn(0), turn(1)}), conversation({turn(0), turn(0)}),
                  conversation({turn(0), turn(0)})}};
  for (auto& r : step.rollouts) r.gold_before = std::log(0.1);
  const double gold[] = {0.9, 0.5, 0.1};
  for (std::size_t i = 0; i < 3; ++i)
    for (PlainTurn& one : step.rollouts[i].turns) one.gold = std::log(gold[i]);
  const Settings plain{{"scale_k", "0"}};
  // z 1, 0, -1: widths 0.2 (1 +- 0.38) of the first turns, 0.2 of the last.
  for (const double ratio : {1.25, 0.75}) {
    for (auto& r : step.rollouts) r.now = {std::log(0.5 * ratio), std::log(0.5 * ratio)};
    const Column wide = derivative(step, "a2tgpo"), usual = derivative(step, "a2tgpo", plain);
    const std::size_t pushed = ratio > 1 ? 0U : 4U;  // the turn whose advantage pushes that way
    EXPECT_EQ(usual[pushed], 0.0) << ratio;
    EXPECT_EQ(wide[pushed] != 0.0, pushed == 0) << ratio;
  }
}

TEST(WorksWhen, carl_one_reward_times_factors_for_faults) {
  PlainStep step = answers({{0, 1}, {0, 1}});
  step.rollouts[0].components = {{"correct", 1.0}, {"lane", 0.9}, {"comfort", 0.8}};
  step.rollouts[1].components = {{"correct", 1.0}, {"lane", 0.9}, {"comfort", 0.0}};
  EXPECT_TRUE(near(values(Objective("carl-driving").rewards(step.columns())), {0.72, 0.0}));
  EXPECT_TRUE(
      near(values(Objective("carl-driving", {}, {{"combine", "sum"}}).rewards(step.columns())),
           {2.7, 1.9}));
}

/// Two turns that were paid 1/4 each, and a fault of 0.8: the reward 0.5 x 0.8 counts at the last
/// token, and what was added up on the way does not. At lambda 0 and values of 0 the advantages are
/// the tokens' own rewards.
TEST(WorksWhen, carl_hears_nothing_that_was_added_up_on_the_way) {
  PlainStep step{{conversation({turn(0.25), turn(0.25)}), conversation({turn(0.25), turn(0.25)})}};
  step.rollouts[0].components = {{"correct", 1.0}, {"way", 0.5}, {"lane", 0.8}};
  step.rollouts[1].components = {{"correct", 1.0}, {"way", 0.5}, {"lane", 0.0}};
  const Settings own{{"lambda", "0"}}, sum{{"lambda", "0"}, {"combine", "sum"}};
  EXPECT_TRUE(near(advantage(step, "carl-driving", own), {0.0, 0.4, 0.0, 0.0}));
  EXPECT_TRUE(near(advantage(step, "carl-driving", sum), {0.25, 2.05, 0.25, 1.25}))
      << "a sum of components is one over turns, so that their pay stays where it is";
}

/// The first turn was paid 1, and the answer is right at the second: 1/2 at the last token alone.
TEST(WorksWhen, ufo_hears_nothing_that_was_paid_before_the_answer) {
  PlainStep step{{conversation({turn(1), turn(0)}), conversation({turn(0), turn(0)})}};
  EXPECT_TRUE(near(advantage(step, "ufo-try-again", {{"lambda", "0"}}), {0.0, 0.5, 0.0, 0.0}));
}

TEST(WorksWhen, router_r1_pays_right_answers_and_cheap_help) {
  PlainStep step = answers({{0, 1}, {0, 0}, {0, 1}});
  for (auto& r : step.rollouts) r.components = {{"format", 1.0}, {"cost", 4.0}};
  step.rollouts[2].components["format"] = 0.0;
  step.statistics = {{"cost_low", 0.0}, {"cost_high", 10.0}};
  RoutedCost piece;
  piece.rate = 0.0;
  EXPECT_TRUE(near(values(piece(Step(step.columns())).reward), {0.9, 0.0, -1.0}))
      << "sqrt(4) of 0 to 10 is a normalised cost of 0.8";
  piece.rate = 1.0;  // all costs of the step are equal
  const ShapedReward paid = piece(Step(step.columns()));
  EXPECT_TRUE(near(values(paid.reward), {1.0, 0.0, -1.0}));
  EXPECT_EQ(paid.statistics.at("cost_high"), 2.0);
}

TEST(WorksWhen, datamind_is_either_loss_at_the_ends_of_the_mixture) {
  PlainStep step = random_step({3, 2}, 9, 0.3);
  for (std::size_t i : {2UL, 4UL}) step.rollouts[i].expert = 1.0;
  const auto at = [&](const std::string& g) {
    return derivative(step, "datamind", {{"mu_peak", g}, {"mu_valley", g}});
  };
  const Column supervised = at("1"), rl = at("0");
  std::size_t token = 0;
  double solutions = 0;
  for (const auto& r : step.rollouts) solutions += r.expert * double(r.length());
  for (const auto& r : step.rollouts)
    for (std::size_t t = 0; t < r.length(); ++t, ++token) {
      EXPECT_NEAR(supervised[token], r.expert == 1.0 ? -1.0 / solutions : 0.0, 1e-12);
      EXPECT_EQ(r.expert * rl[token], 0.0);
    }
}

}  // namespace
}  // namespace rollcall::objective::test
