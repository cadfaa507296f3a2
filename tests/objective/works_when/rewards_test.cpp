// What the papers promise whose rewards are made of components, votes, repetition and length, in
// numbers.
#include "objective/objective.hpp"
#include "objective/reward/calibrated.hpp"
#include "objective/reward/components.hpp"
#include "objective/reward/contrast.hpp"
#include "objective/reward/cosine_length.hpp"
#include "objective/reward/degenerate.hpp"
#include "objective/reward/diversity.hpp"
#include "objective/reward/flawed.hpp"
#include "objective/reward/group_length.hpp"
#include "objective/reward/kl_limit.hpp"
#include "objective/reward/majority_vote.hpp"
#include "objective/reward/moving_norm.hpp"
#include "objective/reward/repetition.hpp"
#include "objective/reward/rule_or_votes.hpp"
#include "objective/reward/zero_truncated.hpp"
#include "works_when/small_step.hpp"

#include "base/errors/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::objective::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
auto about(double x, double within = 1e-9) { return DoubleNear(x, within); }

template <class Piece>
Column shaped(const Piece& piece, const PlainStep& step) {
  return values(piece(Step(step.columns())).reward);
}

/// What the row itself pays, with its own settings and these.
Column paid(const std::string& row, const PlainStep& step, const Settings& knobs = {}) {
  return values(Objective(row, {}, knobs).rewards(step.columns()));
}

/// Answers of one group that say these tokens.
PlainStep saying(const std::vector<std::vector<std::int64_t>>& tokens) {
  std::vector<Answer> list;
  for (const auto& t : tokens) list.push_back({0, 0.0, t.size()});
  PlainStep step = answers(list);
  for (std::size_t i = 0; i < tokens.size(); ++i) step.rollouts[i].token = tokens[i];
  return step;
}

TEST(WorksWhen, rl_struct_total_is_the_hand_sum) {
  // Valid, cut off, and with a wrong key; weights 1, 0.5 and, not named, 1.
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.0}});
  const double columns[3][3] = {{1, 1, 1}, {0, 0, 0}, {0, 0.5, 1}};
  // Every verifier fills correct as well, for which the row does not pay.
  for (std::size_t i = 0; i < 3; ++i)
    step.rollouts[i].components = {{"content", columns[i][0]},
                                   {"structure", columns[i][1]},
                                   {"validity", columns[i][2]},
                                   {"correct", i == 0 ? 1.0 : 0.0}};
  EXPECT_THAT(paid("rl-struct", step, {{"component_weights", "content=1, structure=0.5"}}),
              ElementsAre(about(2.5), about(0), about(1.25)));
}

TEST(WorksWhen, components_combine_in_four_ways) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 1.0}});
  step.rollouts[0].components = {{"correct", 1.0}, {"brief", 0.25}},
  step.rollouts[1].components = {{"correct", 0.0}, {"brief", 1.0}};
  step.rollouts[2].components = {{"correct", 1.0}, {"brief", -1.0}};
  const auto by = [&](Components::Combine combine, double brief) {
    Components piece;
    piece.combine = combine, piece.weights.given = {{"brief", brief}};
    return shaped(piece, step);
  };
  EXPECT_THAT(by(Components::Combine::sum, 0.5), ElementsAre(about(1.125), about(0.5), about(0.5)));
  EXPECT_THAT(by(Components::Combine::mean, 3.0),
              ElementsAre(about(1.75 / 4), about(0.75), about(-0.5)));
  EXPECT_THAT(by(Components::Combine::product, 0.5), ElementsAre(about(0.5), about(0), about(0)));
  EXPECT_THAT(by(Components::Combine::conditional, 0.5),
              ElementsAre(about(1.125), about(0), about(0.5)));
}

TEST(WorksWhen, components_that_the_verifier_does_not_fill_are_refused) {
  const Objective objective("rl-struct", {}, {{"component_weights", "format=0.5, safe=2"}});
  EXPECT_EQ(objective.columns(), (std::vector<std::string>{"component/format", "component/safe"}));
  EXPECT_THAT(objective.describe(), HasSubstr("format=0.5, safe=2"));
  PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  for (auto& r : step.rollouts) r.components = {{"format", 1.0}};
  EXPECT_THAT([&] { objective.prepare(step.columns()); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("component/safe")));
}

TEST(WorksWhen, component_weights_are_read_or_refused) {
  const auto refusal = [](const std::string& weights) -> std::string {
    try {
      const Objective objective("gdpo", {}, {{"component_weights", weights}});
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal("correct=1,format=0"), "accepted");
  EXPECT_THAT(refusal("correct"), HasSubstr("is not a name and a number"));
  EXPECT_THAT(refusal("=1"), HasSubstr("is not a name and a number"));
  EXPECT_THAT(refusal("correct=much"), HasSubstr("is not a number"));
  EXPECT_EQ(refusal("correct=1, distance=-1"), "accepted");
  EXPECT_THAT(refusal("correct=-1e7"), HasSubstr("lies outside"));
  EXPECT_THAT(refusal("correct=1, correct=2"), HasSubstr("names correct twice"));
}

std::string refusal_of(const Settings& knobs, const Settings& pieces = {{"reward", "components"}}) {
  try {
    const Objective objective("grpo", pieces, knobs);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(WorksWhen, components_may_be_charged_for) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  step.rollouts[0].components = {{"correct", 1.0}, {"distance", 0.25}},
  step.rollouts[1].components = {{"correct", 0.0}, {"distance", 1.0}};
  Components piece;
  piece.weights.given = {{"correct", 2.0}, {"distance", -1.0}};
  EXPECT_THAT(shaped(piece, step), ElementsAre(about(1.75), about(-1.0)));
  piece.combine = Components::Combine::mean;
  EXPECT_THAT(shaped(piece, step), ElementsAre(about(1.75 / 3), about(-1.0 / 3)));
  EXPECT_EQ(refusal_of({{"component_weights", "distance=-1"}}), "accepted");
  EXPECT_THAT(refusal_of({{"component_weights", "distance=-1"}, {"combine", "product"}}),
              HasSubstr("negative weight"));
  EXPECT_THAT(refusal_of({{"component_weights", "a=2"}, {"omit_components", "b, a"}}),
              HasSubstr("omit_components leaves out"));
  piece.weights.given = {{"correct", 0.0}, {"distance", 0.0}};
  EXPECT_THAT([&] { shaped(piece, step); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("no reward component counts")));
  piece.weights = {{}, {"correct", "distance"}};
  EXPECT_THAT([&] { shaped(piece, step); },
              testing::ThrowsMessage<ConfigError>(HasSubstr("no reward component counts")));
}

// The columns of a run: every verifier fills correct, and the built-in ones format.
TEST(WorksWhen, ace_rl_pays_the_satisfied_share) {
  PlainStep step = answers({{0, 0.0}});
  step.rollouts[0].components = {{"a", 1.0},       {"b", 1.0}, {"c", 1.0},
                                 {"correct", 0.0}, {"d", 0.0}, {"format", 0.0}};
  EXPECT_THAT(paid("ace-rl", step, {{"target_weight", "0"}}), ElementsAre(about(0.75)));
}

TEST(WorksWhen, multirole_r1_diversity_is_nothing_for_repeated_text_and_rises_with_distinct_runs) {
  const PlainStep step =
      saying({{4, 4, 4, 4, 4}, {4, 4, 4, 4, 5}, {4, 5, 4, 5, 4}, {1, 2, 3, 4, 5}, {1, 2}, {}});
  EXPECT_THAT(shaped(Diversity(), step), ElementsAre(about(0), about(0.1 / 3), about(0.1 / 3),
                                                     about(0.1), about(0), about(0)));
}

TEST(WorksWhen, repetition_charges_the_share_said_before) {
  // Runs of two: 44 three times over; 45, 54, 45, 54; none twice; fewer than two tokens.
  Repetition piece;
  piece.n = 2;
  EXPECT_THAT(shaped(piece, saying({{4, 4, 4, 4}, {4, 5, 4, 5, 4}, {1, 2, 3}, {1}})),
              ElementsAre(about(-2.0 / 3), about(-0.5), about(0), about(0)));
}

TEST(WorksWhen, t1_inference_scaling_gives_loops_and_cut_answers_one_bad_reward) {
  PlainStep step = saying({{4, 4, 4, 4, 4, 4, 4}, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3}});
  for (auto& r : step.rollouts) r.reward = 1.0;
  step.rollouts[2].truncated = true;
  EXPECT_THAT(shaped(Degenerate(), step), ElementsAre(-1, 1, -1));
}

PlainStep answering(const std::vector<double>& given) {
  PlainStep step = answers(std::vector<Answer>(given.size(), Answer{0, 0.0}));
  for (std::size_t i = 0; i < given.size(); ++i) step.rollouts[i].answer = given[i];
  return step;
}

TEST(WorksWhen, ettrl_marks_the_majority) {
  // 3 to 2
  EXPECT_THAT(shaped(MajorityVote(), answering({0, 1, 0, 1, 0})), ElementsAre(1, 0, 1, 0, 1));
  // a tie
  EXPECT_THAT(shaped(MajorityVote(), answering({0, 1, 0, 1, 2})), ElementsAre(1, 1, 1, 1, 0));
  // nobody agrees
  EXPECT_THAT(shaped(MajorityVote(), answering({0, 1, 2})), ElementsAre(0, 0, 0));
  // silence does not win
  EXPECT_THAT(shaped(MajorityVote(), answering({-1, -1, -1, 0, 0})), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(shaped(MajorityVote(), answering({0})), ElementsAre(0));
}

TEST(WorksWhen, ttrl_follows_the_vote_and_not_the_verifier) {
  PlainStep step = answering({0, 0, 1});
  step.rollouts[2].reward = step.rollouts[2].correct = 1.0;
  const Column d = evaluate(Objective("ttrl"), step).derivative;
  EXPECT_LT(d[0], 0.0);
  EXPECT_GT(d[2], 0.0);
}

TEST(WorksWhen, ettrl_rescales_by_relative_entropy) {
  // Entropies 1 and 3 under answers that two of four share: factors 1.5 and 0.5 times what ttrl
  // has.
  PlainStep step = answering({0, 0, 1, 1});
  step.rollouts.pop_back();
  step.rollouts[1].entropy = {3.0}, step.rollouts[2].entropy = {2.0};
  const Column plain = evaluate(Objective("ttrl"), step).derivative,
               scaled = evaluate(Objective("ettrl"), step).derivative;
  EXPECT_NEAR(scaled[0] / plain[0], 1.5, 1e-9);
  EXPECT_NEAR(scaled[1] / plain[1], 0.5, 1e-9);
  step.rollouts[1].entropy = {30.0};  // beyond twice the mean a success is left alone, not pushed
                                      // down
  EXPECT_EQ(evaluate(Objective("ettrl"), step).derivative[1], 0.0);
}

TEST(WorksWhen, fapo_turns_a_flawed_success_from_step_to_mistake) {
  const auto pushed = [](double others) {
    PlainStep step = answers({{0, 1.0}, {0, others}, {0, others}, {0, others}});
    for (auto& r : step.rollouts) r.components = {{"sound", 1.0}};
    step.rollouts[0].components = {{"sound", 0.0}};
    return -evaluate(Objective("fapo"), step).derivative[0];
  };
  EXPECT_GT(pushed(0.0), 0.0);  // 0 beside -1, -1, -1
  EXPECT_LT(pushed(1.0), 0.0);  // 0 beside 1, 1, 1
}

TEST(WorksWhen, spell_takes_the_rule_or_the_majority_of_judgements) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}, {0, 0.0}, {0, 0.0}});
  const double votes[] = {0.0, 0.625, 0.5, 0.25};
  for (std::size_t i = 0; i < 4; ++i) step.rollouts[i].components = {{"votes", votes[i]}};
  EXPECT_THAT(shaped(RuleOrVotes(), step), ElementsAre(1, 1, 0, 0));
}

TEST(WorksWhen, geometryzero_gcpo_pays_a_behaviour_where_it_helps) {
  // Eight answers with token 0 and eight without, of which so many are right: 6/8 against 3/8, the
  // other way round, and 4/8 against 4/8.
  const auto paid = [](int with, int without) {
    PlainStep step = answers(std::vector<Answer>(16, Answer{0, 0.0}));
    for (int i = 0; i < 16; ++i) {
      auto& r = step.rollouts[std::size_t(i)];
      r.token = {i < 8 ? 0 : 9}, r.correct = i < 8 ? i < with : i - 8 < without;
    }
    const Column reward = shaped(Contrast(), step);
    EXPECT_EQ(reward[15], 0.0);
    return reward[0];
  };
  EXPECT_EQ(paid(6, 3), 0.5);
  EXPECT_EQ(paid(3, 6), -0.5);
  EXPECT_EQ(paid(4, 4), 0.0);
  // Those that were told to use it are right and the others wrong, while one of the former uses it
  // and two of the latter do: by use it would be 1/3 against 3/5.
  PlainStep told = answers(std::vector<Answer>(8, Answer{0, 0.0}));
  for (int i = 0; i < 8; ++i) {
    auto& r = told.rollouts[std::size_t(i)];
    const bool is_told = i % 2 == 0, uses = i == 0 || i == 1 || i == 3;
    r.opening = is_told ? 1 : 2, r.correct = is_told, r.token = {uses ? 0 : 9};
  }
  EXPECT_THAT(shaped(Contrast(), told), ElementsAre(0.5, 0.5, 0, 0.5, 0, 0, 0, 0));
  Contrast second;
  second.opening = 2.0;
  EXPECT_THAT(shaped(second, told), ElementsAre(-0.5, -0.5, 0, -0.5, 0, 0, 0, 0))
      << "the second text asks for it";
  EXPECT_EQ(Objective("geometryzero-gcpo").unset(),
            std::vector<std::string>{"reward.behaviour_token"});
}

TEST(WorksWhen, cgpo_mixture_of_judges_calibrates_and_limits_the_divergence) {
  EXPECT_THAT(shaped(Calibrated(), answers({{0, 1.0}, {0, 0.0}})),
              ElementsAre(about(0.5), about(1 / (1 + std::exp(1.0)))));
  PlainStep step = answers({{0, 1.0, 2}, {0, 1.0, 2}});
  for (double& lp : step.rollouts[0].reference) lp -= 2.49;
  for (double& lp : step.rollouts[1].reference) lp -= 2.51;
  EXPECT_THAT(shaped(KlLimit(), step), ElementsAre(1, 0));
}

TEST(WorksWhen, kimi15_prefers_the_shorter_right_answer_and_never_a_short_wrong_one) {
  PlainStep step = answers({{0, 1.0, 10}, {0, 1.0, 30}, {0, 0.0, 10}, {0, 0.0, 30}});
  step.progress = 1.0;
  EXPECT_THAT(shaped(GroupLength(), step), ElementsAre(1.25, 0.75, 0, -0.25));
  step.progress = 0.4;
  EXPECT_FALSE(GroupLength()(Step(step.columns())).reward.defined());
}

TEST(WorksWhen, demystify_long_cot_ends_where_its_table_says) {
  PlainStep step = answers({{0, 1.0, 0},
                            {0, 1.0, 50},
                            {0, 1.0, 100},
                            {0, 0.0, 0},
                            {0, 0.0, 50},
                            {0, 0.0, 100},
                            {0, 1.0, 100}});
  step.rollouts[6].truncated = true;
  EXPECT_THAT(shaped(CosineLength(), step), ElementsAre(about(2), about(1.5), about(1), about(-10),
                                                        about(-5), about(0), about(-10)));
}

TEST(WorksWhen, dler_sets_the_target_by_difficulty) {
  // Half right: easy, 20 tokens; a third right: 40.
  const PlainStep step = answers({{0, 1.0, 15},
                                  {0, 1.0, 30},
                                  {0, 0.0, 5},
                                  {0, 0.0, 5},
                                  {1, 1.0, 30},
                                  {1, 0.0, 5},
                                  {1, 0.0, 5}});
  ZeroTruncated piece;
  piece.target = 40, piece.easy = 20;
  EXPECT_THAT(shaped(piece, step), ElementsAre(1, 0, 0, 0, 1, 0, 0));
}

TEST(WorksWhen, ppo_max_remembers_the_moments_of_all_steps) {
  PlainStep step = answers({{0, 1.0}, {0, 0.0}});
  const ShapedReward first = MovingNorm()(Step(step.columns()));
  EXPECT_THAT(values(first.reward), ElementsAre(about(0.9998, 1e-4), about(-0.9998, 1e-4)));
  step.statistics = first.statistics;
  for (auto& r : step.rollouts) r.reward = 0.0;
  // 1, 0, 0, 0: mean 1/4, deviation sqrt(3)/4. A step in which all fail is a bad one.
  EXPECT_THAT(shaped(MovingNorm(), step),
              ElementsAre(about(-1 / std::sqrt(3.0), 1e-3), about(-1 / std::sqrt(3.0), 1e-3)));
}

TEST(Metrics, EveryComponentAndEveryPieceIsReportedByName) {
  PlainStep step = answers({{0, 1.0, 10}, {0, 0.0, 10}}, 10.0);
  step.rollouts[0].components = {{"format", 1.0}}, step.rollouts[1].components = {{"format", 0.5}};
  const auto metrics =
      evaluate(Objective("grpo", {{"reward", "components+overlong"}}), step).metrics;
  EXPECT_NEAR(metrics.at("critic/component/format/mean"), 0.75, 1e-12);
  // 1 and 0.5 in place of 1 and 0
  EXPECT_NEAR(metrics.at("critic/shaping/components/mean"), 0.25, 1e-12);
  EXPECT_NEAR(metrics.at("critic/shaping/overlong/mean"), -1.0, 1e-12);
}

}  // namespace
}  // namespace rollcall::objective::test
