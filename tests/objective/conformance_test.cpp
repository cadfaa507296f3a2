// The conformance suite: nine properties that every row of recipes.cpp must have. The rows come
// from the table, so none can be missed.
#include "exceptions.hpp"
#include "hand_worked.hpp"
#include "properties.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace rollcall::objective::test {
namespace {

/// The row's weight pieces and, after them, the one that drops rollouts at the token limit.
std::string with_drop_truncated(const Recipe& recipe) {
  const std::string weights(recipe.piece(Family::weight));
  return weights == "none"                                ? "drop_truncated"
         : weights.find("drop_truncated") != weights.npos ? weights
                                                          : weights + "+drop_truncated";
}

void without_tokens(PlainRollout& r) {
  for (auto* column :
       {&r.now, &r.old, &r.rollout, &r.entropy, &r.reference, &r.teacher, &r.teacher_kl, &r.current,
        &r.current_entropy, &r.old_entropy, &r.sum_squares, &r.old_value, &r.value,
        &r.reasoning_step, &r.probe_accuracy, &r.probe_confidence, &r.given, &r.masked}) {
    column->clear();
  }
  r.token.clear();
}

class Conformance : public testing::TestWithParam<std::string> {
 protected:
  Objective objective{GetParam()};
  /// True, and the test is to be skipped, where the recipe or one of its pieces is excused.
  bool excused(const std::string& property) const {
    const auto names = members(row(GetParam()));
    const auto e = std::find_if(exceptions().begin(), exceptions().end(), [&](const Exception& x) {
      return x.property == property && std::find(names.begin(), names.end(), x.who) != names.end();
    });
    if (e != exceptions().end())
      std::cout << GetParam() << " is excused from " << property << ": " << e->reason << "\n";
    return e != exceptions().end();
  }
};

// Property 1. A rollout without policy tokens, in a group of its own, changes nothing; dropped
// tokens have no derivative and no influence;
// log-ratios of any size stay finite.
TEST_P(Conformance, untrained_tokens_have_no_influence) {
  EXPECT_TRUE(rc::check([&] {
    PlainStep step = step_with_experts();
    const Result before = evaluate(objective, step);
    PlainRollout empty;
    empty.group = step.rollouts.back().group + 1;
    empty.reward = 1.0;
    step.rollouts.push_back(empty);
    const Result after = evaluate(objective, step);
    RC_ASSERT(near(before.loss, after.loss));
    RC_ASSERT(near(before.derivative, after.derivative));
  }));
}

TEST_P(Conformance, dropped_rollouts_have_no_derivative) {
  const Objective filtered(GetParam(), {{"weight", with_drop_truncated(row(GetParam()))}});
  EXPECT_TRUE(rc::check([&] {
    PlainStep step = step_with_experts();
    const Result before = evaluate(filtered, step);
    std::size_t token = 0;
    for (auto& r : step.rollouts) {
      for (double& lp : r.now) {
        RC_ASSERT(!r.truncated || before.derivative[token] == 0.0);
        if (r.truncated) lp -= 1.5;
        ++token;
      }
    }
    const Result after = evaluate(filtered, step);
    RC_ASSERT(after.loss == before.loss && after.derivative == before.derivative);
    RC_ASSERT(after.metrics == before.metrics);
  }));
}

// Where the loss is that of a group, dropped rollouts weigh in it as if the policy had said nothing
// in them.
TEST_P(Conformance, a_group_forgets_dropped_rollouts) {
  if (!objective.whole_groups()) GTEST_SKIP() << "no loss of a group";
  const Objective filtered(GetParam(), {{"weight", with_drop_truncated(row(GetParam()))}});
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = later(step_with_experts());
    PlainStep emptied = step;
    Column kept;
    const Result dropped = evaluate(filtered, step);
    auto derivative = dropped.derivative.begin();
    for (auto& r : emptied.rollouts) {
      const auto end = derivative + std::ptrdiff_t(r.length());
      if (!r.truncated) kept.insert(kept.end(), derivative, end);
      derivative = end;
      if (r.truncated) without_tokens(r);
    }
    const Result empty = evaluate(filtered, emptied);
    RC_ASSERT(near(dropped.loss, empty.loss));
    RC_ASSERT(near(kept, empty.derivative));
  }));
}

TEST_P(Conformance, finite_at_any_log_ratio) {
  EXPECT_TRUE(rc::check([&] { RC_ASSERT(all_finite(evaluate(objective, any_step(500.0)))); }));
}

// Property 2. Any cut into micro-batches, each prepared by its own rank, gives the same derivative,
// loss and metrics.
TEST_P(Conformance, any_cut_gives_the_same_derivative) {
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = later(step_with_experts());
    std::vector<std::vector<std::int64_t>> micro_batches(4);
    const auto micro_batch_of_group = *rc::gen::container<std::vector<int>>(8, any_of(0, 4));
    for (const auto i : step.all()) {
      const int of_group = micro_batch_of_group[std::size_t(step.rollouts[std::size_t(i)].group)];
      micro_batches[std::size_t(objective.whole_groups() ? of_group : *any_of(0, 4))].push_back(i);
    }
    const Result whole = evaluate(objective, step), cut = evaluate(objective, step, micro_batches);
    RC_ASSERT(near(whole.loss, cut.loss));
    RC_ASSERT(near(whole.derivative, cut.derivative, 1e-14));
    RC_ASSERT(whole.metrics.size() == cut.metrics.size());
    for (const auto& [name, value] : whole.metrics) RC_ASSERT(near(value, cut.metrics.at(name)));
  }));
}

// Property 3. Prompts and rollouts in any order: the derivative moves with its rollout, the loss
// stays. Shaped rewards that are equal but for their last bit (0.35 - 0.05 and 0.3) sum to another
// last bit in another order, and a standardised advantage magnifies that by 1 / adv_eps, 1e8 at
// most.
TEST_P(Conformance, order_does_not_matter) {
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = step_with_experts();
    std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
    const auto [shuffled, order] = shuffle(step, engine);
    const Result a = evaluate(objective, step), b = evaluate(objective, shuffled);
    constexpr double tolerance = 1e-7;
    RC_ASSERT(near(a.loss, b.loss, tolerance));
    RC_ASSERT(near(rearrange(step, a.derivative, order), b.derivative, tolerance));
  }));
}

// Property 4. Uneven groups and groups of one are finite; equal rewards within groups of two and
// more teach nothing: in a step where all rewards are equal, and in one group beside others that
// have something to teach.
TEST_P(Conformance, equal_rewards_teach_nothing) {
  if (excused("equal_rewards")) GTEST_SKIP();
  const Subject s(GetParam());
  EXPECT_TRUE(rc::check([&] {
    RC_ASSERT(equal_step_teaches_nothing(s, any_step(), *rc::gen::element(0.0, 0.1, 1.0, -3.7)));
  }));
}

TEST_P(Conformance, a_group_of_equal_rewards_teaches_nothing) {
  if (excused("equal_rewards") || excused("equal_group")) GTEST_SKIP();
  const Subject s(GetParam());
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = any_step();
    const auto group = step.rollouts[std::size_t(*any_of(0, int(step.rollouts.size())))].group;
    RC_ASSERT(equal_group_teaches_nothing(s, step, group, *rc::gen::element(0.0, 0.1, 1.0, -3.7)));
  }));
}

TEST_P(Conformance, a_step_of_lone_or_empty_rollouts_is_finite) {
  EXPECT_TRUE(all_finite(evaluate(objective, random_step({1, 1, 1}, 3, 0.3))));
  PlainStep nothing = random_step({2, 1}, 5, 0.3);
  for (auto& r : nothing.rollouts) {
    const auto [group, reward, components] = std::tuple(r.group, r.reward, r.components);
    r = {}, r.group = group, r.reward = reward, r.components = components;
  }
  const Result result = evaluate(objective, nothing);
  EXPECT_TRUE(all_finite(result));
  EXPECT_EQ(result.loss, 0.0);
}

// Property 5. Where the policy is the one that sampled, the derivative is the plain policy gradient
// -A times the aggregate's coefficient,
// and the ratio metrics are 1 to the bit.
// It holds where a further weight piece drops rollouts as well: what is dropped counts in no
// denominator.
TEST_P(Conformance, on_policy_it_is_the_policy_gradient) {
  if (excused("policy_gradient")) GTEST_SKIP();
  const Subject plain(GetParam()),
      dropping(GetParam(), {{"weight", with_drop_truncated(row(GetParam()))}});
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = any_step(0.0);
    RC_ASSERT(is_policy_gradient(*rc::gen::arbitrary<bool>() ? dropping : plain, step));
  }));
}

// Property 5, other half: far outside the interval, a token stops being pushed on in its direction
// and can still be pulled back.
TEST_P(Conformance, the_trust_region_is_on_the_right_side) {
  if (excused("trust_region")) GTEST_SKIP();
  const Subject s(GetParam());
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = any_step();
    std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
    RC_ASSERT(trust_region_is_on_the_right_side(s, step, engine));
  }));
}

// Property 5, with the row's own widths: the clipped loss is that of a plain loop, at ratios well
// inside and well outside the interval.
TEST_P(Conformance, clipped_loss_has_the_widths_of_the_row) {
  const Recipe& recipe = row(GetParam());
  if (recipe.piece(Family::surrogate) != "clip")
    GTEST_SKIP() << "another surrogate: compared with its plain loop by itself";
  const Objective free_of_regularizers = Free(GetParam()).made(GetParam());
  EXPECT_TRUE(rc::check([&] {
    PlainStep step = any_step(1.0);
    const double loss = evaluate(free_of_regularizers, step).loss;
    const PlainPrepared plain = plain_prepare(recipe, step);
    for (const auto& [key, value] : recipe.settings) step.knobs[std::string(key)] = value;
    const Column ratio = plain_pieces().ratio.at(std::string(recipe.piece(Family::ratio)))(step);
    const Column clipped = plain_pieces().surrogate.at("clip")(step, plain.advantage, ratio).loss;
    double expected = 0;
    for (std::size_t t = 0; t < clipped.size(); ++t)
      expected += clipped[t] * plain.factor[t] * plain.coefficient[t];
    // Equal rewards: a standardised advantage is then the last bit of a mean (1e-16) over its eps
    // (1e-6), in one of the two or both.
    const bool rounding = std::any_of(plain.advantage.begin(), plain.advantage.end(),
                                      [](double a) { return std::abs(a) < 1e-8; });
    RC_ASSERT(near(loss, expected, rounding ? 1e-9 : 1e-11));
  }));
}

// Property 6. Central differences of the loss, with everything the step froze held fixed.
TEST_P(Conformance, numerical_derivative_agrees) {
  if (excused("numerical_derivative")) GTEST_SKIP();
  const PlainStep step = later(random_step({3, 2, 1}, 11, 0.3));
  ASSERT_GT(step.flat(&PlainRollout::now).size(), 5U);
  EXPECT_TRUE(numerical_derivative_agrees(Subject(GetParam()), step));
}

// Property 7. Epochs and mini-batches change nothing that the step says once (METHODS.md, "Once a
// step, and at every update"): in the run's first step, and in one that finds what others have
// left.
TEST_P(Conformance, epochs_and_mini_batches_change_nothing_frozen) {
  if (excused("mini_batches")) GTEST_SKIP();
  const Subject s(GetParam());
  for (std::uint32_t seed = 0; seed < 6; ++seed) {  // few: each is up to eight updates
    PlainStep step = random_step({3, 1, 4, 2, 5}, seed, 0.3);
    step.index = seed;
    for (auto& r : step.rollouts) r.expert = double(r.key % 4 == 0);
    if (seed % 2 == 1)
      step.statistics =
          Objective::statistics(*objective.prepare(random_step({3, 2}, seed + 100, 0.3).columns()));
    EXPECT_TRUE(updates_take_what_the_step_says(s, step, 1 + seed % 4)) << "seed " << seed;
  }
}

// Property 9. A rollout of one turn is what a rollout without turns is, to the bit; and what holds of
// single answers holds of conversations.
TEST_P(Conformance, one_turn_each_is_no_turns) {
  EXPECT_TRUE(rc::check([&] {
    PlainStep step = later(step_with_experts());
    const Result without = evaluate(objective, step);
    step.with_offsets = true;
    const Result with = evaluate(objective, step);
    RC_ASSERT(with.loss == without.loss && with.derivative == without.derivative);
    RC_ASSERT(with.entropy_derivative == without.entropy_derivative);
    RC_ASSERT(with.value_derivative == without.value_derivative);
    RC_ASSERT(with.metrics == without.metrics);
  }));
}

TEST_P(Conformance, conversations_are_cut_and_ordered_as_answers_are) {
  EXPECT_TRUE(rc::check([&] {
    const PlainStep step = in_turns(later(step_with_experts()));
    std::vector<std::vector<std::int64_t>> micro_batches(3);
    for (const auto i : step.all())
      micro_batches[std::size_t(step.rollouts[std::size_t(i)].group) % 3].push_back(i);
    const Result whole = evaluate(objective, step), cut = evaluate(objective, step, micro_batches);
    RC_ASSERT(all_finite(whole));
    RC_ASSERT(near(whole.loss, cut.loss) && near(whole.derivative, cut.derivative, 1e-14));
    std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
    const auto [shuffled, order] = shuffle(step, engine);
    const Result other = evaluate(objective, shuffled);
    RC_ASSERT(near(rearrange(step, whole.derivative, order), other.derivative, 1e-7));
  }));
}

TEST_P(Conformance, conversations_of_any_log_ratio_are_finite) {
  EXPECT_TRUE(
      rc::check([&] { RC_ASSERT(all_finite(evaluate(objective, in_turns(any_step(500.0))))); }));
}

TEST_P(Conformance, updates_take_the_turns_of_the_step) {
  if (excused("mini_batches")) GTEST_SKIP();
  const Subject s(GetParam());
  for (std::uint32_t seed = 0; seed < 3; ++seed)
    EXPECT_TRUE(updates_take_what_the_step_says(s, in_turns(random_step({3, 1, 4}, seed, 0.3)), 2))
        << "seed " << seed;
}

// Property 8. The number worked out by hand.
TEST_P(Conformance, hand_worked_number) {
  ASSERT_TRUE(hand_worked().contains(GetParam())) << "work one out in hand_worked.hpp";
  const HandWorked& expected = hand_worked().at(GetParam());
  const Result result = evaluate(objective, expected.step());
  EXPECT_NEAR(result.loss, expected.loss, 1e-8);
  EXPECT_TRUE(near(result.derivative, expected.derivative, 1e-7))
      << testing::PrintToString(result.derivative);
}

INSTANTIATE_TEST_SUITE_P(rows, Conformance, testing::ValuesIn(recipe_names()), [](const auto& row) {
  std::string name = row.param;  // GoogleTest allows no dashes
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace rollcall::objective::test
