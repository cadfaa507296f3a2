// What the papers that look at sets, quantiles, answers or single tokens promise, in numbers.
#include "objective/advantage/consistency_blend.hpp"
#include "objective/advantage/group_norm.hpp"
#include "objective/advantage/group_quantile.hpp"
#include "objective/advantage/hybrid_modes.hpp"
#include "objective/advantage/mean_norm.hpp"
#include "objective/advantage/optimal_token_baseline.hpp"
#include "objective/advantage/pass_at_k.hpp"
#include "works_when/small_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
auto about(double x, double within = 1e-3) { return DoubleNear(x, within); }

TEST(WorksWhen, copo_blends_by_the_entropy_of_answers) {
  std::vector<Answer> list;
  const double rates[] = {1, 0, 0.5, 0.5};
  for (int g = 0; g < 4; ++g) {
    for (int i = 0; i < 8; ++i) list.push_back({g, i < 8 * rates[g] ? 1.0 : 0.0});
  }
  PlainStep agree = answers(list), differ = agree;
  for (std::size_t i = 0; i < differ.rollouts.size(); ++i)
    differ.rollouts[i].answer = double(i % 8);
  const Column global = advantages_of(ConsistencyBlend(), agree),
               local = advantages_of(ConsistencyBlend(), differ);
  const double prompts[] = {global[0], global[8], global[16], global[24]};
  // +-1/2 over the root of (1/4 + 1/4) / 3
  EXPECT_THAT(prompts, ElementsAre(about(1.2247), about(-1.2247), about(0), about(0)));
  const Column grpo = advantages_of(GroupNorm(), agree);
  for (std::size_t i = 0; i < grpo.size(); ++i) EXPECT_NEAR(local[i], grpo[i], 1e-4);
  EXPECT_NE(evaluate(Objective("copo"), agree).derivative[0], 0.0);  // of the all-correct group
}

TEST(WorksWhen, copo_measures_entropy_in_bits) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.0}});
  for (std::size_t i = 0; i < 3; ++i) step.rollouts[i].answer = double(i);
  // 0.845; of ln 3 it would be 0.0003
  const double w = 1 / (1 + std::exp(-20 * (std::log2(3.0) - 1.5)));
  const Column grpo = advantages_of(GroupNorm(), step),
               blend = advantages_of(ConsistencyBlend(), step);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(blend[i], w * grpo[i], 1e-9);
}

TEST(WorksWhen, passk_training_is_grpo_at_one_and_spares_failures_of_easy_prompts) {
  PassAtK piece;
  piece.k = 1;
  const PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}});
  EXPECT_THAT(advantages_of(piece, step),
              ElementsAre(about(1.732), about(-0.577), about(-0.577), about(-0.577)));
  piece.k = 4;
  for (const double a :
       advantages_of(piece, answers({{0, 1.0}, {0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}})))
    EXPECT_EQ(a, 0.0);
}

TEST(WorksWhen, qae_pushes_one_side) {
  const Column hard =
      advantages_of(GroupQuantile(), answers({{0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}}));
  const Column easy =
      advantages_of(GroupQuantile(), answers({{0, 1.0}, {0, 1.0}, {0, 1.0}, {0, 0.0}}));
  EXPECT_THAT(hard, ElementsAre(about(2), about(0), about(0), about(0)));
  EXPECT_THAT(easy, ElementsAre(about(0), about(0), about(0), about(-2)));
}

TEST(WorksWhen, maxrl_weighs_a_prompt_by_the_inverse_of_its_rate) {
  EXPECT_THAT(advantages_of(MeanNorm(), answers({{0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}})),
              ElementsAre(about(3), about(-1), about(-1), about(-1)));
}

TEST(WorksWhen, optimal_token_baseline_leaves_the_longest_tail_alone) {
  PlainStep step = answers({{0, 1.0, 3}, {0, 0.0, 1}});
  for (auto& r : step.rollouts) r.sum_squares.assign(r.length(), 0.5);
  EXPECT_THAT(values(OptimalTokenBaseline()(Step(step.columns()))),
              ElementsAre(about(0.5), about(1), about(1), about(-0.5)));
}

TEST(WorksWhen, reinforce_follows_the_mean_reward) {
  const Objective objective("reinforce");
  PlainStep step = answers({{0, 1.0}, {1, 0.0}, {2, 1.0}, {3, 1.0}});
  for (int i = 0; i < 300; ++i)
    step.statistics = Objective::statistics(*objective.prepare(step.columns()));
  EXPECT_NEAR(step.statistics.at("reward_mean"), 0.75, 1e-6);
}

TEST(WorksWhen, lhrm_hgpo_credits_the_mode_to_its_token) {
  const auto step = [](const std::vector<double>& thinking, const std::vector<double>& direct) {
    std::vector<Answer> list;
    for (const double r : thinking) list.push_back({0, r, 2});
    for (const double r : direct) list.push_back({0, r, 2});
    PlainStep plain = answers(list);
    for (std::size_t i = 0; i < list.size(); ++i)
      plain.rollouts[i].token = {i < thinking.size() ? 0 : 1, 7};
    return plain;
  };
  const auto choice = [](const PlainStep& plain) {  // what the first token has over the second
    const Column a = values(HybridModes()(Step(plain.columns())));
    return std::vector<double>{a[0] - a[1], a[a.size() - 2] - a[a.size() - 1]};
  };
  // 1 > 0.5 + 0.2
  EXPECT_THAT(choice(step({1, 1}, {1, 0})), ElementsAre(about(0.866), about(-0.866)));
  // 0.5 < 0.5 + 0.2
  EXPECT_THAT(choice(step({1, 0}, {1, 0})), ElementsAre(about(-0.866), about(0.866)));
  // A mode that is all wrong has no best answer: 1, 0, 0, 0 standardised, not 1, 0, 1, 1.
  const Column a = values(HybridModes()(Step(step({1, 0}, {0, 0}).columns())));
  EXPECT_NEAR(a[1], 1.5, 1e-4);
  for (const std::size_t second : {3U, 5U, 7U}) EXPECT_NEAR(a[second], -0.5, 1e-4);
}

/// Half of a group is told to think. What they were told is their mode, and chose nothing.
TEST(WorksWhen, lhrm_hgpo_goes_by_what_an_answer_was_told) {
  PlainStep plain = answers({{0, 1, 2}, {0, 0, 2}, {0, 0, 2}, {0, 0, 2}});
  for (std::size_t i = 0; i < 4; ++i) plain.rollouts[i].token = {i < 2 ? 0 : 1, 7};
  const Column chosen = values(HybridModes()(Step(plain.columns())));
  for (auto& rollout : plain.rollouts) rollout.token = {7, 7};
  plain.rollouts[0].opening = plain.rollouts[1].opening = 1;
  plain.rollouts[2].opening = plain.rollouts[3].opening = 2;
  const Column told = values(HybridModes()(Step(plain.columns())));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(told[2 * i], chosen[2 * i + 1]) << "the first token is like the others";
    EXPECT_EQ(told[2 * i + 1], chosen[2 * i + 1]);
    EXPECT_NE(chosen[2 * i], chosen[2 * i + 1]);
  }
}

TEST(WorksWhen, lhrm_hgpo_wants_to_be_told_its_token) {
  EXPECT_EQ(Objective("lhrm-hgpo").unset(), std::vector<std::string>{"advantage.think_token"});
  EXPECT_TRUE(Objective("lhrm-hgpo", {}, {{"think_token", "7"}}).unset().empty());
  EXPECT_TRUE(Objective("grpo").unset().empty());
}

}  // namespace
}  // namespace rollcall::objective::test
