// CRAFT-GUI, VSPO and Resampling on Correct: stages, further draws and clean positives.
#include "scheduling/selection/clean_positives.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::scheduling {
namespace {

const StepRequest kStep = {
    .step = 0, .prompts = 8, .budget = 64, .min_rollouts = 8, .max_rollouts = 8};

TEST(CraftGui, AStageBeginsOnlyOnceTheOneBeforeHasPassed) {
  // Levels 2, 3, 4 and 5; level 2 is solved half the time in its first four steps, always from then
  // on; the others never are.
  const auto policy = make_scheduler({"craft_gui"}, {}, prompt_table(80), 1);
  for (std::uint64_t step = 0; step < 10; ++step) {
    StepRequest request = kStep;
    request.step = step;
    const auto played = play(*policy, request, [&](const GroupPlan& g, std::uint32_t s) {
      return g.level == 2 && (step >= 4 || s % 2 == 0);
    });
    // f = 1/4, 3/8, 7/16, 15/32 while half are solved; then 0.73, which is past 0.7: the step after
    // it is the first of level 3.
    for (const auto& report : played.reports) EXPECT_EQ(report.level, step <= 4 ? 2 : 3) << step;
  }
}

TEST(CraftGui, DeafItGoesOnWhateverIsSolved) {
  // All it hears is that everything is right: f = 1/2, then 3/4, so that a stage takes two steps;
  // hearing that nothing is, it would stay.
  const auto deaf = make_scheduler({"craft_gui"}, {{"control", "constant"}}, prompt_table(80), 1),
             hearing = make_scheduler({"craft_gui"}, {}, prompt_table(80), 1);
  for (std::uint64_t step = 0; step < 8; ++step) {
    StepRequest request = kStep;
    request.step = step;
    const auto nothing = [](const GroupPlan&, std::uint32_t) { return false; };
    for (const auto& report : play(*deaf, request, nothing).reports)
      EXPECT_EQ(report.level, 2 + std::int32_t(step / 2));
    for (const auto& report : play(*hearing, request, nothing).reports) EXPECT_EQ(report.level, 2);
  }
}

/// Rollouts until a learner solves 80 % of all levels: skill at a level is solved at rate s (below:
/// 0), grows by practice that is neither sure nor hopeless, and a level can only be practised as
/// far as the one below is mastered.
std::int64_t rollouts_to_learn(const std::string& row) {
  const auto policy = make_scheduler({row}, {}, prompt_table(400), 1);
  std::vector<double> skill = {0.2, 0.0, 0.0, 0.0};
  const auto rate = [&](std::int32_t level) { return skill[std::size_t(level - 2)]; };
  std::int64_t rollouts = 0;
  for (std::uint64_t step = 0;
       step < 2000 && std::accumulate(skill.begin(), skill.end(), 0.0) < 3.2; ++step) {
    StepRequest request = kStep;
    request.step = step;
    const auto played = play(*policy, request, [&](const GroupPlan& g, std::uint32_t s) {
      return RandomStream(5, RandomPurpose::test, step, g.id.prompt.value, s).uniform(0) <
             rate(g.level);
    });
    const auto before = skill;
    for (const auto& report : played.reports) {
      const auto level = std::size_t(report.level - 2);
      const double ground = level == 0 ? 1.0 : before[level - 1];
      skill[level] = std::min(1.0, skill[level] + 0.02 * ground * ground);
    }
    rollouts += played.training.drawn;
  }
  return rollouts;
}

TEST(CraftGui, StagesReachTheTargetInFewerRolloutsThanShuffledPrompts) {
  EXPECT_LT(double(rollouts_to_learn("craft_gui")), 0.9 * double(rollouts_to_learn("uniform")));
}

const StepRequest kRoomy = {
    .step = 0, .prompts = 8, .budget = 64, .min_rollouts = 8, .max_rollouts = 32};

TEST(PrsVspo, FurtherRolloutsOfTheMostValuablePromptsFillTheStep) {
  // Prompts 0 to 4 are never solved; 5, 6 and 7 by 1, 4 and 3 of the first 8.
  const int right[] = {0, 0, 0, 0, 0, 1, 4, 3};
  const auto policy = make_scheduler({"prs_vspo"}, {}, prompt_table(8, 1), 1);
  const auto played = play(*policy, kRoomy, [&](const GroupPlan& g, std::uint32_t s) {
    return int(s) < right[g.id.prompt.value];
  });
  ASSERT_EQ(played.rounds.size(), 2U);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> redrawn;
  for (const auto& g : played.rounds[1].groups) {
    EXPECT_EQ(g.first_sample, 8U);
    redrawn.emplace_back(g.id.prompt.value, g.count);
  }
  // p (1 - p): 16, 15 and 7 of 64. Five dead groups: one draw each, and a second for the first two.
  EXPECT_EQ(redrawn,
            (std::vector<std::pair<std::uint64_t, std::uint32_t>>{{6, 16}, {7, 16}, {5, 8}}));
  EXPECT_EQ(played.training.trained, 64);  // as many rollouts as were asked for, none of them in a
                                           // dead group
  for (const auto& g : played.training.groups) EXPECT_LT(g.id.prompt.value, 5U);
  EXPECT_LE(played.training.drawn, policy->hard_cap(kRoomy));
}

TEST(PrsVspo, RepeatsAreBoundedAndDeadStepsStayDead) {
  const auto one = [](const GroupPlan& g, std::uint32_t s) {
    return g.id.prompt.value == 0 && s < 4;
  };
  const auto played = play(
      *make_scheduler({"prs_vspo"}, {{"redraw_most", "2"}}, prompt_table(8, 1), 1), kRoomy, one);
  EXPECT_EQ(played.count(0), 24);  // its own draw and two more, where seven are dead
  EXPECT_EQ(played.training.trained, 24);
  // no room: max_rollouts is what it has
  EXPECT_EQ(play(*make_scheduler({"prs_vspo"}, {}, prompt_table(8, 1), 1), kStep, one).count(0), 8);
  const auto dead = play(*make_scheduler({"prs_vspo"}, {}, prompt_table(8, 1), 1), kRoomy,
                         [](const GroupPlan&, std::uint32_t) { return true; });
  EXPECT_EQ(dead.training.drawn, 64);
}

/// How many of the right and of the wrong rollouts train.
std::pair<int, int> kept(const GroupReport& report, const std::vector<std::uint8_t>& keep) {
  std::pair<int, int> counts;
  for (std::size_t i = 0; i < keep.size(); ++i)
    (report.correct[i] != 0 ? counts.first : counts.second) += keep[i];
  return counts;
}

TEST(Rstar2Agent, CountsOfTheReleasedCode) {
  const CleanPositivesSelection selection;
  const std::map<int, std::pair<int, int>> expected = {
      {8, {4, 12}}, {1, {1, 15}}, {2, {2, 14}},  {3, {2, 14}},  {5, {2, 14}},
      {7, {4, 12}}, {16, {8, 8}}, {24, {12, 4}}, {31, {15, 1}}, {30, {14, 2}}};
  for (const auto& [right, counts] : expected) {
    const GroupReport report = group(0, right, 32);
    EXPECT_EQ(kept(report, selection.choose(report)), counts) << right;
  }
}

TEST(Rstar2Agent, OfTheRightOnesTheCleanestOfTheWrongOnesTheFirst) {
  GroupReport report = group(0, 8, 32);
  const double reward[] = {1.0, 1.5, 1.2, 1.5, 1.0, 1.5, 1.0, 1.2};
  std::copy(std::begin(reward), std::end(reward), report.rewards.begin());
  const auto keep = CleanPositivesSelection().choose(report);
  EXPECT_EQ((std::vector<std::uint8_t>(keep.begin(), keep.begin() + 8)),
            (std::vector<std::uint8_t>{0, 1, 1, 1, 0, 1, 0, 0}));
  EXPECT_EQ(std::accumulate(keep.begin() + 8, keep.begin() + 20, 0), 12);
  EXPECT_EQ(std::accumulate(keep.begin() + 20, keep.end(), 0), 0);
}

TEST(Rstar2Agent, GroupsOfEqualRewardsLeaveTheStep) {
  const auto policy = make_scheduler({"rstar2_agent"}, {}, prompt_table(3, 1), 1);
  const StepRequest request = {
      .step = 0, .prompts = 3, .budget = 96, .min_rollouts = 32, .max_rollouts = 32};
  EXPECT_EQ(policy->settle(request, {group(0, 32, 32), group(1, 8, 32), group(2, 0, 32)}).trained,
            16);
  EXPECT_EQ(policy->settle(request, {group(0, 32, 32), group(2, 0, 32)}).trained, 0)
      << "nothing differs, so nothing trains";
}

}  // namespace
}  // namespace rollcall::scheduling
