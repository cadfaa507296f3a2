// Rounds that ask again with help: which prompts, with which tier, how many rollouts, under which
// numbers; and what the scheduler does not learn from them.
#include "scheduling/rounds/hints.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "core/derived_prompt.hpp"
#include "scheduling/sampler/uniform.hpp"
#include "scheduling/simulated_run.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace rollcall::scheduling {
namespace {

using testing::HasSubstr;

constexpr StepRequest kRequest{
    .step = 1, .prompts = 4, .budget = 32, .min_rollouts = 2, .max_rollouts = 16};

GroupReport report_of(const GroupId& id, int right, int rollouts, const Derivation& from = {}) {
  GroupReport r = no_results(id, 2);
  for (int i = 0; i < rollouts; ++i)
    r.correct.push_back(i < right), r.rewards.push_back(i < right), r.lengths.push_back(4);
  r.from = from;
  return r;
}

/// A group of the task in step 1.
GroupReport task_group(std::uint64_t prompt, int right, int rollouts, std::uint32_t draw = 0) {
  return report_of({1, {prompt}, draw}, right, rollouts);
}

GroupReport tier_group(std::uint64_t prompt, std::uint32_t draw, std::int32_t tier, int right,
                       int rollouts) {
  return report_of({1, {prompt}, draw}, right, rollouts,
                   {.kind = DerivedKind::hint, .parent = {1, {prompt}, 0}, .tier = tier});
}

/// The piece alone, with its knobs.
struct Alone {
  explicit Alone(const Knobs& knobs = {}, PromptTable table = prompt_table(8, 1))
      : knowledge(std::move(table), 1), rounds(knowledge), sampler(8, 1) {
    ConfigSchema schema;
    rounds.bind(schema);
    for (const auto& [key, value] : knobs) schema.set(key + "=" + value);
  }
  std::vector<GroupPlan> ask(const StepRequest& request, std::uint32_t round,
                             const std::vector<GroupReport>& pool) {
    return rounds.next(request, round, pool, sampler).groups;
  }
  Knowledge knowledge;
  HintRounds rounds;
  UniformSampler sampler;
};

/// "prompt.draw:tier x count" of each group, in order.
std::string text(const std::vector<GroupPlan>& groups) {
  std::string all;
  for (const GroupPlan& g : groups)
    all += (all.empty() ? "" : " ") + std::to_string(g.id.prompt.value) + "." +
           std::to_string(g.id.draw) + ":" + std::to_string(g.from.tier) + "x" +
           std::to_string(g.count);
  return all;
}

TEST(Hints, EachRoundAsksTheNextTierOfGroupsWithoutASuccess) {
  Alone piece;
  std::vector<GroupReport> pool = {task_group(0, 0, 8), task_group(1, 3, 8), task_group(2, 8, 8),
                                   task_group(3, 0, 8)};
  Decision first = piece.rounds.next(kRequest, 1, pool, piece.sampler);
  EXPECT_EQ(text(first.groups), "0.1:1x8 3.1:1x8");
  EXPECT_FALSE(first.last_round);
  const GroupPlan& plan = first.groups[1];
  EXPECT_EQ(plan.from.kind, DerivedKind::hint);
  EXPECT_EQ(plan.from.parent, (GroupId{1, {3}, 0}));
  EXPECT_EQ(plan.from.parent_sample, Derivation::kWholeGroup);
  EXPECT_EQ(plan.from.placement, Placement::replaces_parent);
  EXPECT_EQ(plan.first_sample, first_derived_sample(std::uint32_t{1}));
  EXPECT_EQ(plan.level, 2);

  pool = {task_group(0, 0, 8), tier_group(0, 1, 1, 2, 8), task_group(1, 3, 8),
          task_group(2, 8, 8), task_group(3, 0, 8),       tier_group(3, 1, 1, 0, 8)};
  EXPECT_EQ(text(piece.ask(kRequest, 2, pool)), "3.2:2x8");
  pool.push_back(tier_group(3, 2, 2, 0, 8));
  const Decision last = piece.rounds.next(kRequest, 3, pool, piece.sampler);
  EXPECT_EQ(text(last.groups), "3.3:3x8");
  EXPECT_TRUE(last.last_round);
}

TEST(Hints, WithoutADeadGroupTheStepIsOver) {
  Alone piece;
  const Decision none =
      piece.rounds.next(kRequest, 1, {task_group(0, 1, 8), task_group(1, 8, 8)}, piece.sampler);
  EXPECT_TRUE(none.groups.empty());
  EXPECT_TRUE(none.last_round);
  EXPECT_EQ(make_scheduler({"ghpo"}, {}, prompt_table(4), 1)->traits().most_rounds, 4);
}

TEST(Hints, UndecidedGroupsAreNotDeadAndAnUndecidedTierFailed) {
  Alone piece;
  GroupReport undecided = task_group(0, 0, 0);
  undecided.dropped = 8;
  GroupReport tier = tier_group(1, 1, 1, 0, 0);
  tier.dropped = 8;
  EXPECT_EQ(text(piece.ask(kRequest, 1, {undecided, task_group(1, 0, 8)})), "1.1:1x8");
  EXPECT_EQ(text(piece.ask(kRequest, 2, {undecided, task_group(1, 0, 8), tier})), "1.2:2x8");
}

TEST(Hints, SeveralDrawsOfAPromptAreHelpedEachByItself) {
  Alone piece;
  std::vector<GroupReport> pool = {task_group(5, 0, 8, 0), task_group(5, 1, 8, 1),
                                   task_group(5, 0, 4, 2)};
  const auto first = piece.ask(kRequest, 1, pool);
  EXPECT_EQ(text(first), "5.3:1x8 5.4:1x4");
  EXPECT_EQ(first[1].from.parent.draw, 2U);
  // The first is solved by its tier, the other is not.
  pool.push_back(tier_group(5, 3, 1, 1, 8));
  pool.push_back(tier_group(5, 4, 1, 0, 4));
  pool.back().from.parent.draw = 2;
  EXPECT_EQ(text(piece.ask(kRequest, 2, pool)), "5.5:2x4");
}

TEST(Hints, AStepThatDrawsAPromptTooOftenIsRefused) {
  Alone piece;
  const std::vector<GroupReport> fits = {task_group(5, 0, 8, (1U << 11) - 2)},
                                 full = {task_group(5, 0, 8, (1U << 11) - 1)};
  EXPECT_EQ(piece.ask(kRequest, 1, fits).size(), 1U);
  try {
    piece.ask(kRequest, 1, full);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_THAT(e.what(), HasSubstr("prompt 5 would be drawn more than 2048 times in step 1"));
  }
}

TEST(Hints, KnobsSayHowManyWhereAndFromWhen) {
  Alone piece(Knobs{{"hint_tiers", "12"},
                    {"hint_rollouts", "1"},
                    {"hint_placement", "replaces_one"},
                    {"hint_from_step", "50"}});
  StepRequest request = kRequest;
  request.step = 50;
  const std::vector<GroupReport> pool = {task_group(0, 0, 8)};
  EXPECT_TRUE(piece.ask(request, 1, pool).empty());
  request.step = 51;
  const auto asked = piece.ask(request, 1, pool);
  EXPECT_EQ(text(asked), "0.1:1x1");
  EXPECT_EQ(asked[0].from.placement, Placement::replaces_one);
  EXPECT_EQ(piece.rounds.hard_cap(request), 32 + 12 * 4);
  EXPECT_EQ(piece.rounds.most_rounds(), 13);
  EXPECT_EQ(Alone().rounds.hard_cap(request), 32 * 4);
}

TEST(Hints, NoPromptGetsMoreTiersThanItHas) {
  PromptTable table = prompt_table(8, 1);
  table.tiers = {3, 0, 1, 3, 3, 3, 3, 3};
  Alone piece({}, table);
  const std::vector<GroupReport> pool = {task_group(0, 0, 8), task_group(1, 0, 8),
                                         task_group(2, 0, 8)};
  EXPECT_EQ(text(piece.ask(kRequest, 1, pool)), "0.1:1x8 2.1:1x8");
  EXPECT_EQ(text(piece.ask(kRequest, 2, pool)), "0.1:2x8");
  Alone shares(Knobs{{"hint_by", "difficulty"}}, table);
  EXPECT_EQ(text(shares.ask(kRequest, 1, {task_group(1, 0, 6), task_group(2, 0, 6)})),
            "2.1:1x16 1.0:0x2 2.0:0x2")
      << "20 are left: 16, at most max_rollouts, for the prompt with help, the rest without";
}

/// d = 0, 1/4, 1/2, 1 of 12 rollouts each: 16 d / 1.75 = 0, 2.29, 4.57, 9.14, and the rollout that
/// is left goes to the largest remainder. Tiers are ceil(3 d).
TEST(Hints, ByDifficultyTheBudgetIsDealtInProportionToFailures) {
  Alone piece(Knobs{{"hint_by", "difficulty"}, {"hint_placement", "joins_parent"}});
  const StepRequest request{
      .step = 1, .prompts = 4, .budget = 64, .min_rollouts = 2, .max_rollouts = 32};
  EXPECT_EQ(piece.rounds.first(request).budget, 48);
  const std::vector<GroupReport> pool = {task_group(0, 12, 12), task_group(1, 9, 12),
                                         task_group(2, 6, 12), task_group(3, 0, 12)};
  const auto asked = piece.ask(request, 1, pool);
  EXPECT_EQ(text(asked), "1.1:1x2 2.1:2x5 3.1:3x9");
  EXPECT_EQ(asked[0].from.placement, Placement::joins_parent);
  EXPECT_TRUE(piece.rounds.exact_total());
  EXPECT_EQ(piece.rounds.most_rounds(), 2);
  EXPECT_EQ(piece.rounds.hard_cap(request), 64);
}

TEST(Hints, AThirdOfFailuresIsTheFirstOfThreeTiers) {
  Alone piece(Knobs{{"hint_by", "difficulty"}});  // 1 - 2.0 / 3 times 3 is above 1 in doubles
  const auto asked = piece.ask({.step = 1, .prompts = 1, .budget = 16, .max_rollouts = 16}, 1,
                               {task_group(0, 8, 12)});
  EXPECT_EQ(text(asked), "0.1:1x4");
}

TEST(Hints, WhatNoPromptNeedsContinuesTheGroups) {
  Alone piece(Knobs{{"hint_by", "difficulty"}, {"hint_share", "0.5"}});
  const StepRequest request{
      .step = 1, .prompts = 4, .budget = 48, .min_rollouts = 2, .max_rollouts = 12};
  EXPECT_EQ(piece.rounds.first(request).budget, 24);
  std::vector<GroupReport> pool = {task_group(0, 6, 6), task_group(1, 6, 6), task_group(2, 6, 6),
                                   task_group(3, 6, 6)};
  EXPECT_EQ(text(piece.ask(request, 1, pool)), "0.0:0x6 1.0:0x6 2.0:0x6 3.0:0x6");
  pool[2] = task_group(2, 1, 6);
  const auto asked = piece.ask(request, 1, pool);
  EXPECT_EQ(text(asked), "2.1:3x12 0.0:0x3 1.0:0x3 2.0:0x3 3.0:0x3");
  EXPECT_EQ(asked[1].first_sample, 6U);
}

TEST(Hints, TheGroupsKeepTheirLeastCount) {
  Alone piece(Knobs{{"hint_by", "difficulty"}, {"hint_share", "0.5"}, {"hint_from_step", "3"}});
  StepRequest request{.step = 4, .prompts = 4, .budget = 32, .min_rollouts = 6, .max_rollouts = 16};
  EXPECT_EQ(piece.rounds.first(request).budget, 24);
  request.step = 3;
  EXPECT_EQ(piece.rounds.first(request).budget, 32);
  request.min_rollouts = 8;
  EXPECT_THAT(piece.rounds.shortage(request)->problem,
              HasSubstr("scheduler.min_rollouts is 8 and train.rollouts_per_prompt 8"));
  EXPECT_THAT(Alone(Knobs{{"hint_by", "difficulty"}, {"hint_share", "0.01"}})
                  .rounds.shortage(kRequest)
                  ->remedy,
              HasSubstr("scheduler.knobs.hint_share=0.12"));
}

/// What a scheduler knows and says after some steps.
struct Heard {
  std::string state;
  Training training;
  std::map<std::string, double> metrics;
};

/// Three steps in which `with_help` of the eight rollouts of a tier are right, and none without.
Heard after_help(const SchedulerChoice& choice, int with_help) {
  const auto policy = make_scheduler(choice, {}, prompt_table(12, 4), 3);
  Heard heard;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    StepRequest request = kRequest;
    request.step = step;
    std::vector<GroupReport> all;
    for (Decision round = policy->begin_step(request);;) {
      std::vector<GroupReport> reports;
      for (const GroupPlan& plan : round.groups)
        reports.push_back(
            report_of(plan.id, is_plain(plan.from) ? 0 : with_help, int(plan.count), plan.from));
      for (std::size_t i = 0; i < reports.size(); ++i) reports[i].level = round.groups[i].level;
      for (const auto& report : reports) all.push_back(report);
      // One round of help, whatever came of it: what follows is the same in both runs.
      if (round.last_round || all.size() > reports.size()) break;
      round = policy->next_round(request, reports);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    heard.training = policy->settle(request, all);
    policy->end_step(all);
  }
  for (const auto& [name, value] : policy->metrics()) heard.metrics[name] = value;
  auto state = nlohmann::json::parse(policy->save());
  state.erase("metrics");
  heard.state = state.dump();
  return heard;
}

TEST(Hints, NothingIsLearnedOfPromptsFromHelp) {
  for (const std::string row : {"uniform_sqrt", "gdro_resample", "spo", "mmr1"}) {
    const SchedulerChoice choice{.row = row, .rounds = "hints"};
    EXPECT_EQ(after_help(choice, 0).state, after_help(choice, 8).state) << row;
  }
}

TEST(Hints, RolloutsWithHelpAreDrawnButNoSelectionLeavesThemOut) {
  const Heard heard = after_help({.row = "dapo", .rounds = "hints"}, 4);
  EXPECT_EQ(heard.training.drawn, 64);
  // The four groups of the task are dead, which `informative` leaves out; help is not its business.
  EXPECT_EQ(heard.training.groups.size(), 4U);
  EXPECT_EQ(heard.training.trained, 32);
  EXPECT_EQ(heard.metrics.at("rollout_alloc/drawn"), 64);
  EXPECT_EQ(heard.metrics.at("rollout_alloc/total_budget"), 64);
  EXPECT_EQ(heard.metrics.at("rollout_alloc/max"), 8);
  EXPECT_EQ(heard.metrics.at("rollout_alloc/mean"), 8);
  double shares = 0.0;
  for (const auto& [name, value] : heard.metrics)
    shares += name.starts_with("rollout_alloc/class_share/") ? value : 0.0;
  EXPECT_NEAR(shares, 1.0, 1e-12);
}

TEST(Hints, AGroupWithHelpThatNeverReportsWasDrawn) {
  const auto policy = make_scheduler({"ghpo"}, {}, prompt_table(8, 1), 1);
  const Decision first = policy->begin_step(kRequest);
  std::vector<GroupReport> failed;
  for (const GroupPlan& plan : first.groups) failed.push_back(report_of(plan.id, 0, 8));
  std::sort(failed.begin(), failed.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  EXPECT_EQ(policy->next_round(kRequest, failed).groups.size(), 4U);
  // A tier that is lost failed. It is no group of the task, which would get help of its own.
  const Decision second = policy->next_round(kRequest, {});
  ASSERT_EQ(second.groups.size(), 4U);
  for (const GroupPlan& plan : second.groups) {
    EXPECT_EQ(plan.from.tier, 2);
    EXPECT_EQ(plan.from.parent.draw, 0U);
    EXPECT_EQ(plan.id.draw, 2U);
  }
}

}  // namespace
}  // namespace rollcall::scheduling
