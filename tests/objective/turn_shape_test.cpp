// Turns of a step: where they lie, and sums, returns and class means along them.
#include "objective/turn_shape.hpp"
#include "objective/returns.hpp"
#include "plain_step.hpp"

#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

at::Tensor ints(const std::vector<std::int64_t>& values) { return at::tensor(values, at::kLong); }
at::Tensor reals(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }
std::vector<std::int64_t> whole(const at::Tensor& t) {
  const at::Tensor c = t.contiguous();
  return {c.const_data_ptr<std::int64_t>(), c.const_data_ptr<std::int64_t>() + c.numel()};
}
using Whole = std::vector<std::int64_t>;
using Real = std::vector<double>;

/// Three rollouts of 5, 0 and 2 tokens with three turns (of 2, 0 and 3 tokens), one and two.
TurnShape three_rollouts() {
  return {ints({0, 5, 5, 7}), ints({0, 3, 4, 6}), ints({0, 2, 2, 5, 5, 6, 7})};
}

TEST(TurnShape, SaysWhichTokensFormATurn) {
  const TurnShape shape = three_rollouts();
  EXPECT_EQ(shape.turns, 6);
  EXPECT_EQ(whole(shape.rollout), (Whole{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(whole(shape.index), (Whole{0, 1, 2, 0, 0, 1}));
  EXPECT_EQ(values(shape.length), (Real{2, 0, 3, 0, 1, 1}));
  EXPECT_EQ(whole(shape.turn), (Whole{0, 0, 2, 2, 2, 4, 5}));
  EXPECT_EQ(whole(shape.last), (Whole{1, -1, 4, -1, 5, 6}));
  EXPECT_EQ(whole(shape.ends().to(at::kLong)), (Whole{0, 0, 1, 1, 0, 1}));
}

TEST(TurnShape, WithoutTurnsEveryRolloutIsOne) {
  const TurnShape none(ints({0, 5, 5, 7}), {}, {}),
      given(ints({0, 5, 5, 7}), ints({0, 1, 2, 3}), ints({0, 5, 5, 7}));
  EXPECT_EQ(none.turns, 3);
  EXPECT_EQ(whole(none.turn), whole(given.turn));
  EXPECT_EQ(whole(none.last), (Whole{4, -1, 6}));
  EXPECT_EQ(whole(none.last), whole(given.last));
}

TEST(TurnShape, RefusesTurnsThatDoNotTileTheirRollouts) {
  const at::Tensor offsets = ints({0, 2, 4});
  const auto made = [&](const at::Tensor& of, const at::Tensor& begin) {
    return TurnShape(offsets, of, begin);
  };
  EXPECT_THROW(made(ints({0, 1, 2}), {}), std::logic_error) << "half of the two columns";
  EXPECT_THROW(made(ints({0, 2, 2}), ints({0, 2, 4})), std::logic_error) << "a rollout without";
  EXPECT_THROW(made(ints({0, 1, 2}), ints({0, 1, 4})), std::logic_error) << "another's token";
  EXPECT_THROW(made(ints({0, 1, 3}), ints({0, 2, 4})), std::logic_error) << "a turn is missing";
  EXPECT_THROW(made(ints({0, 2, 3}), ints({0, 3, 2, 4})), std::logic_error) << "backwards";
}

TEST(TurnShape, SumsAndCopies) {
  const TurnShape shape = three_rollouts();
  const at::Tensor tokens = reals({1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(values(shape.turn_sum(tokens)), (Real{3, 0, 12, 0, 6, 7}));
  EXPECT_EQ(values(shape.turn_mean(tokens)), (Real{1.5, 0, 4, 0, 6, 7}));
  EXPECT_EQ(values(shape.over_tokens(reals({1, 2, 3, 4, 5, 6}))), (Real{1, 1, 3, 3, 3, 5, 6}));
  EXPECT_EQ(values(shape.over_turns(reals({1, 2, 3}))), (Real{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(values(shape.rollout_sum(reals({1, 2, 3, 4, 5, 6}))), (Real{6, 4, 11}));
}

/// Rewards 1, 0, 1 at gamma 1/2: 1.25, 0.5, 1; a patched turn in the middle returns its own 0, and
/// nothing goes on from it (UI-S1).
TEST(TurnShape, ReturnsEndWithTheRolloutAndAtRestarts) {
  const TurnShape shape = three_rollouts();
  const at::Tensor reward = reals({1, 0, 1, 4, 2, 8}),
                   patched = ints({0, 1, 0, 0, 0, 0}).to(at::kBool);
  EXPECT_EQ(values(shape.returns(reward, 0.5)), (Real{1.25, 0.5, 1, 4, 6, 8}));
  EXPECT_EQ(values(shape.returns(reward, 0.5, patched)), (Real{1, 0, 1, 4, 6, 8}));
}

TEST(TurnShape, CentresWithinClasses) {
  const TurnShape shape = three_rollouts();
  const at::Tensor x = reals({1, 5, 0, 7, 0, 0.3}), key = ints({2, 9, 2, -1, 2, 8});
  using enum TurnShape::Centre;
  using enum TurnShape::Alone;
  EXPECT_TRUE(near(values(shape.centred(x, key, mean, zero, 1e-6)),
                   Real{2.0 / 3, 0, -1.0 / 3, 0, -1.0 / 3, 0}));
  EXPECT_TRUE(near(values(shape.centred(x, key, leave_one_out, itself, 1e-6)),
                   Real{1, 5, -0.5, 7, -0.5, 0.3}));
  const double spread = std::sqrt(1.0 / 3) + 0.5;  // squares 4/9 + 1/9 + 1/9 over 2
  EXPECT_TRUE(near(values(shape.centred(x, key, standard, zero, 0.5)),
                   Real{2 / spread / 3, 0, -1 / spread / 3, 0, -1 / spread / 3, 0}));
  const at::Tensor equal = at::full({6}, 0.1, at::kDouble), all = at::zeros({6}, at::kLong);
  EXPECT_EQ(values(shape.centred(equal, all, standard, zero, 1e-12)), Real(6, 0.0))
      << "the mean of equal values is that value";
}

TEST(TurnShape, PairsAreNumberedAsTheyAppear) {
  EXPECT_EQ(whole(TurnShape::paired(ints({3, 3, 1, 3, 1}), ints({0, 7, 0, 0, 0}))),
            (Whole{0, 1, 2, 0, 2}));
}

/// What turns are paid is found at their last tokens, and all of it within the rollout.
TEST(TurnShape, PayLiesAtTheLastTokenOfTheTurn) {
  PlainStep step{{PlainRollout{0, 1.5, false, Real(5, -1), Real(5, -1), Real(5, -1), Real(5, 1),
                               Real(5, -1)}}};
  step.rollouts[0].turns = {{2, 0.5}, {0, 0.25}, {3, 0.75}};
  Step columns(step.columns());
  EXPECT_EQ(values(columns.turn_reward()), (Real{0.5, 0.25, 0.75}));
  EXPECT_EQ(values(rewards_of_tokens(columns)), (Real{0, 0.5, 0, 0, 1}))
      << "a turn without tokens is paid at the end";
  columns.reward = columns.reward - 1.0;
  EXPECT_EQ(values(columns.turn_reward()), (Real{0.5, 0.25, -0.25}))
      << "what pieces change of the rollout's reward counts at its last turn";
  columns.turns.paid = reals({2, 0, 0});
  EXPECT_EQ(values(rewards_of_tokens(columns)), (Real{0, 2.5, 0, 0, 0}));
  columns.turns.replaced = true;
  EXPECT_EQ(values(columns.turn_reward()), (Real{2, 0, 0.5}))
      << "what the environment paid counts no more once a piece has replaced it";
  EXPECT_EQ(values(rewards_of_tokens(columns)), (Real{0, 2, 0, 0, 0.5}));
  columns.turns.replaced = false;
  columns.columns.named.erase(column::turn_reward);
  EXPECT_EQ(values(columns.turn_reward()), (Real{2, 0, 0.5}))
      << "without the column the last turn is paid the reward";
}

}  // namespace
}  // namespace rollcall::objective::test
