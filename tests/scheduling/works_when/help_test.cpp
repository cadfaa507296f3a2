// GHPO, Scaf-GRPO and ADHint: prompts that are failed get help, only as much as they need, and what
// help shows is learned, which help of another prompt is not.
#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace rollcall::scheduling {
namespace {

/// Groups of a step by the tier that they were asked with.
std::map<std::int32_t, std::vector<std::uint64_t>> asked(const Played& played) {
  std::map<std::int32_t, std::vector<std::uint64_t>> prompts;
  for (const auto& report : played.reports)
    prompts[report.from.tier].push_back(report.id.prompt.value);
  return prompts;
}

/// Share of a step's trained groups whose rewards are all equal, where a group with help takes the
/// place of its parent and of lower tiers.
double dead_after_help(const Played& played) {
  std::map<GroupId, const GroupReport*> trains;
  for (const auto& report : played.reports) {
    const GroupId place = is_plain(report.from) ? report.id : report.from.parent;
    auto& last = trains.try_emplace(place, &report).first->second;
    if (report.from.tier > last->from.tier) last = &report;
  }
  double dead = 0.0;
  for (const auto& [id, report] : trains) {
    const auto right = std::count(report->correct.begin(), report->correct.end(), 1);
    dead += right == 0 || right == std::int64_t(report->correct.size());
  }
  return dead / double(trains.size());
}

constexpr StepRequest kStep{
    .step = 1, .prompts = 4, .budget = 32, .min_rollouts = 8, .max_rollouts = 8};

/// Prompt 0 needs half of the solution, prompt 1 all of it, prompt 2 is solved now and then and
/// prompt 3 always.
bool by_visible_share(const GroupPlan& plan, std::uint32_t sample) {
  switch (plan.id.prompt.value) {
    case 0: return plan.from.tier >= 2 && sample % 2 == 0;
    case 1: return false;
    case 2: return sample % 4 == 1;
    default: return true;
  }
}

TEST(Ghpo, APromptThatNeedsHalfOfTheSolutionIsAskedTwiceMore) {
  const auto policy = make_scheduler({"ghpo"}, {}, prompt_table(4, 1), 1),
             without = make_scheduler({"uniform"}, {}, prompt_table(4, 1), 1);
  const Played played = play(*policy, kStep, by_visible_share);
  auto prompts = asked(played);
  EXPECT_EQ(prompts[0], (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(prompts[1], (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(prompts[2], (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(prompts[3], (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(played.rounds.size(), 4U);
  EXPECT_EQ(played.training.drawn, 32 + 5 * 8);
  EXPECT_EQ(dead_after_help(played), 0.5);  // prompts 1 and 3
  EXPECT_EQ(dead_after_help(play(*without, kStep, by_visible_share)), 0.75);
}

TEST(ScafGrpo, TheLeastHelpThatSolvesAPromptIsTheLastThatIsAsked) {
  const auto policy = make_scheduler({"scaf_grpo"}, {}, prompt_table(4, 1), 1);
  const auto with_seven = [](const GroupPlan& plan, std::uint32_t) {
    return plan.id.prompt.value > 0 || plan.from.tier >= 7;
  };
  StepRequest request = kStep;
  request.step = 50;
  EXPECT_EQ(play(*policy, request, with_seven).training.drawn, 32) << "the warm-up of 50 steps";
  request.step = 51;
  const Played played = play(*policy, request, with_seven);
  EXPECT_EQ(played.training.drawn, 32 + 7) << "one rollout for each tier up to the seventh";
  auto prompts = asked(played);
  EXPECT_EQ(prompts.rbegin()->first, 7);
  std::int64_t successes = 0;
  for (const auto& report : played.reports)
    successes += report.from.tier > 0 ? std::int64_t(right(report)) : 0;
  EXPECT_EQ(successes, 1);
}

/// Prompts that are hopeless without help. Each has a skill of its own, which groups with and
/// without help move by the policy gradient of their centred rewards.
class Pupil {
 public:
  /// `per_tier`: what a tier of help adds to the logit of success.
  Pupil(double difficulty, double per_tier, std::uint64_t seed)
      : difficulty_(difficulty), per_tier_(per_tier), seed_(seed), skill_(8, 0.0) {}
  double chance(std::uint64_t prompt, std::int32_t tier) const {
    return 1.0 / (1.0 + std::exp(difficulty_ - per_tier_ * double(tier) - skill_[prompt]));
  }
  bool right(const GroupPlan& plan, std::uint32_t sample) const {
    return RandomStream(seed_, RandomPurpose::test, plan.id.step, plan.id.prompt.value, sample)
               .uniform(plan.id.draw) < chance(plan.id.prompt.value, plan.from.tier);
  }
  void learn(const std::vector<GroupReport>& reports) {
    std::vector<double> gradient(8, 0.0);
    for (const auto& report : reports) {
      const double mean = std::accumulate(report.rewards.begin(), report.rewards.end(), 0.0) /
                          double(report.rewards.size()),
                   p = chance(report.id.prompt.value, report.from.tier);
      for (const double r : report.rewards)
        gradient[report.id.prompt.value] += (r - mean) * (r - p);
    }
    for (std::size_t i = 0; i < 8; ++i) skill_[i] += 0.5 * gradient[i];
  }
  double mean_without_help() const {
    double sum = 0.0;
    for (std::uint64_t p = 0; p < 8; ++p) sum += chance(p, 0) / 8.0;
    return sum;
  }

 private:
  double difficulty_, per_tier_;
  std::uint64_t seed_;
  std::vector<double> skill_;
};

struct Taught {
  double pass_rate = 0.0;                    // without help, in the end
  double first_tier = 0.0, last_tier = 0.0;  // mean tier of the first and the last ten steps
};

Taught taught(const std::string& row, double difficulty, double per_tier, std::uint64_t seed) {
  Pupil pupil(difficulty, per_tier, seed);
  const auto policy = make_scheduler({row}, {}, prompt_table(8, 1), seed);
  double tiers[2] = {0.0, 0.0}, groups[2] = {0.0, 0.0};
  for (std::uint64_t step = 1; step <= 60; ++step) {
    const Played played = play(
        *policy, {.step = step, .prompts = 8, .budget = 64, .min_rollouts = 2, .max_rollouts = 32},
        [&](const GroupPlan& plan, std::uint32_t s) { return pupil.right(plan, s); });
    pupil.learn(played.reports);
    for (const auto& report : played.reports) {
      if (is_plain(report.from) || (step > 10 && step <= 50)) continue;
      tiers[step > 50] += report.from.tier, groups[step > 50] += 1.0;
    }
  }
  return {pupil.mean_without_help(), tiers[0] / std::max(groups[0], 1.0),
          tiers[1] / std::max(groups[1], 1.0)};
}

/// Help of another prompt changes no chance, which is what a tier that adds nothing is.
TEST(Ghpo, HopelessPromptsAreLearnedByTheirOwnHelpAndNotByAnothers) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_GT(taught("ghpo", 12.0, 3.5, seed).pass_rate, 0.9) << seed;
    EXPECT_LT(taught("ghpo", 12.0, 0.0, seed).pass_rate, 0.05) << seed;
    EXPECT_LT(taught("uniform", 12.0, 3.5, seed).pass_rate, 0.05) << seed;
  }
}

TEST(Adhint, HelpShrinksAsThePassRateRises) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Taught hearing = taught("adhint", 6.0, 2.0, seed),
                 deaf = taught("adhint", 6.0, 0.0, seed);
    EXPECT_GT(hearing.pass_rate, 0.8) << seed;
    EXPECT_LT(deaf.pass_rate, 0.5) << seed;
    EXPECT_GT(hearing.first_tier, 2.5) << seed;
    EXPECT_LT(hearing.last_tier, 1.5) << seed;
    EXPECT_GT(deaf.last_tier, hearing.last_tier + 0.5) << seed;
  }
}

TEST(Adhint, HalfOfTheFailuresGetTheSecondTierAndTheTotalIsTheBudget) {
  const auto policy = make_scheduler({"adhint"}, {}, prompt_table(4, 1), 1);
  StepRequest request = kStep;
  request.min_rollouts = 2, request.max_rollouts = 16;
  const Played played = play(*policy, request, [](const GroupPlan& plan, std::uint32_t s) {
    return plan.id.prompt.value == 0 ? s % 2 == 0 : plan.id.prompt.value > 1;
  });
  auto prompts = asked(played);
  EXPECT_EQ(prompts[2], (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(prompts[3], (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(played.training.drawn, 32);
}

}  // namespace
}  // namespace rollcall::scheduling
