// PCL, DOTS, VADE, SPO and MMR1: prompts chosen by how likely they are solved.
#include "base/text/json.hpp"
#include "scheduling/sampler/thompson_variance.hpp"
#include "scheduling/sampler/tracked_deviation.hpp"
#include "scheduling/sampler/variance_mix.hpp"
#include "scheduling/works_when/small_run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace rollcall::scheduling {
namespace {

// Every third prompt is never solved, every third half the time, every third always.
double thirds(std::uint64_t prompt) { return 0.5 * double(prompt % 3); }

const StepRequest kStep = {
    .step = 0, .prompts = 10, .budget = 80, .min_rollouts = 8, .max_rollouts = 8};

TEST(Pcl, TakesThePromptsNearestToOneHalf) {
  const auto policy = make_scheduler({"pcl"}, {}, table_of({0.10F, 0.45F, 0.60F, 0.90F, 0.52F}), 1);
  const auto d = policy->begin_step(
      {.step = 0, .prompts = 2, .budget = 4, .min_rollouts = 2, .max_rollouts = 2});
  ASSERT_EQ(d.groups.size(), 2U);
  EXPECT_EQ(d.groups[0].id.prompt.value, 4U);  // |0.52 - 0.5| = 0.02
  EXPECT_EQ(d.groups[1].id.prompt.value, 1U);  // |0.45 - 0.5| = 0.05
}

TEST(Pcl, FewerGroupsTeachNothingThanUnderUniformAtEqualRollouts) {
  const auto pcl = make_scheduler({"pcl"}, {}, prompt_table(60, 1), 1),
             uniform = make_scheduler({"uniform"}, {}, prompt_table(60, 1), 1);
  EXPECT_LT(dead_share(*pcl, kStep, 20, 30, thirds),
            0.7 * dead_share(*uniform, kStep, 20, 30, thirds));
}

TEST(DotsRr, ProbabilitiesOfThePaper) {
  // exp(0), exp(-1), exp(-3), exp(-500) over their sum 1.41767.
  const std::map<std::uint64_t, double> expected = {
      {0, 0.7054}, {1, 0.2595}, {2, 0.0351}, {3, 0.0}};
  std::map<std::uint64_t, double> times;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const auto d =
        make_scheduler({"dots_rr"}, {}, table_of({0.500F, 0.501F, 0.503F, 1.0F}), seed)
            ->begin_step(
                {.step = 0, .prompts = 1, .budget = 1, .min_rollouts = 1, .max_rollouts = 1});
    const auto prompt = d.groups[0].id.prompt.value;
    ASSERT_EQ(d.probability.size(), 1U);
    EXPECT_NEAR(d.probability[0], expected.at(prompt), 2e-4);
    times[prompt] += 1.0 / 4000;
  }
  // three standard deviations
  for (const auto& [prompt, p] : expected) EXPECT_NEAR(times[prompt], p, 0.025) << prompt;
}

TEST(DotsRr, WithoutReplacementTheChancesAreOfWhatIsLeft) {
  const auto d =
      make_scheduler({"dots_rr"}, {{"target_temperature", "0.25"}}, table_of({0.5F, 0.25F, 0.5F}),
                     3)
          ->begin_step(
              {.step = 0, .prompts = 3, .budget = 3, .min_rollouts = 1, .max_rollouts = 1});
  std::vector<double> weight = {1.0, std::exp(-1.0), 1.0};
  double left = weight[0] + weight[1] + weight[2];
  for (std::size_t i = 0; i < 3; ++i) {
    const double own = weight[d.groups[i].id.prompt.value];
    EXPECT_NEAR(d.probability[i], own / left, 1e-12);
    left -= own;
  }
}

TEST(Vade, PicksHalfSolvedPromptsMostAndSolvedOnesHardlyEver) {
  const auto vade = make_scheduler({"vade"}, {}, prompt_table(60, 1), 1),
             uniform = make_scheduler({"uniform"}, {}, prompt_table(60, 1), 1);
  std::array<double, 3> picked{};
  for (std::uint64_t step = 0; step < 60; ++step) {
    StepRequest r = kStep;
    r.step = step;
    const auto played = play(*vade, r, at_rates(thirds));
    for (const auto& g : played.reports)
      picked[g.id.prompt.value % 3] += step >= 20 ? 1.0 / 400 : 0.0;
  }
  EXPECT_GT(picked[1], 0.65);  // the gain leans to hard prompts and most evidence fades, so that
                               // hopeless ones are looked at again
  EXPECT_LT(picked[2], 0.02);
  EXPECT_LT(
      dead_share(*make_scheduler({"vade"}, {}, prompt_table(60, 1), 2), kStep, 20, 30, thirds),
      0.5 * dead_share(*uniform, kStep, 20, 30, thirds));
}

TEST(Vade, FullFadeResetsAndNoFadeKeepsAll) {
  // Prompt 0 was always wrong, then always right, eight rollouts each; its posterior afterwards,
  // seen through the picks against prompt 1 at Beta(1, 1).
  for (const auto& [fade, kept_wrong] :
       std::vector<std::pair<std::string, double>>{{"0", 8.0}, {"1", 0.0}}) {
    Knowledge known(prompt_table(2, 1), 1);
    ThompsonVarianceSampler sampler(known);
    ConfigSchema knobs;
    sampler.bind(knobs);
    knobs.set("fade_all=0");
    knobs.set("fade_sampled=" + fade);
    sampler.learn({group(0, 0, 8, 1)});
    sampler.learn({group(0, 8, 8, 2)});
    EXPECT_EQ(sampler.save().dump(),
              nlohmann::json({{"counts", {{0, 8.0, kept_wrong, 2}}}}).dump());
  }
}

TEST(Vade, HandWorkedCountsOfThePapersFigure) {
  // SampledToken: 0.2 of the old counts, and the group's 1 and 4 right of 8. Passed over in step 2:
  // 0.999 of them, before step 3 draws it.
  Knowledge known(prompt_table(3, 1), 1);
  ThompsonVarianceSampler sampler(known);
  ConfigSchema knobs;
  sampler.bind(knobs);
  sampler.load({{"counts", {{0, 0.1, 8.4, 1}, {1, 2.7, 5.3, 1}, {2, 9.0, 0.2, 1}}}});
  sampler.learn({group(0, 1, 8, 2), group(1, 4, 8, 2)});
  sampler.learn({group(2, 8, 8, 3)});
  const auto counts = sampler.save().at("counts");
  EXPECT_NEAR(counts[0][1].get<double>(), 1.02, 1e-12);
  EXPECT_NEAR(counts[0][2].get<double>(), 8.68, 1e-12);
  EXPECT_NEAR(counts[1][1].get<double>(), 4.54, 1e-12);
  EXPECT_NEAR(counts[1][2].get<double>(), 5.06, 1e-12);
  EXPECT_NEAR(counts[2][1].get<double>(), 0.2 * 8.991 + 8, 1e-12);
  EXPECT_NEAR(counts[2][2].get<double>(), 0.2 * 0.1998, 1e-12);
}

TEST(Vade, PrefersOneThirdToOneHalf) {
  // p (1 - p)^2 of what is surely known: 0.32 gives 0.148, 0.5 gives 0.125, 0.13 gives 0.098, 0.9
  // gives 0.009.
  Knowledge known(prompt_table(4, 1), 1);
  ThompsonVarianceSampler sampler(known);
  sampler.load(
      {{"counts",
        {{0, 5e6, 5e6, 1}, {1, 1.3e6, 8.7e6, 1}, {2, 9e6, 1e6, 1}, {3, 3.2e6, 6.8e6, 1}}}});
  const auto draws = sampler.choose(
      {.step = 2, .prompts = 4, .budget = 4, .min_rollouts = 1, .max_rollouts = 1}, {});
  ASSERT_EQ(draws.size(), 4U);
  for (std::size_t i = 0; const std::uint64_t prompt : {3U, 0U, 1U, 2U})
    EXPECT_EQ(draws[i++].prompt.value, prompt);
}

TEST(Spo, HandWorkedTracker) {
  // (6 + 0.5) / (8 + 1) from 6 of 8 offline successes; N0 = 1 / (1 - 0.875) = 8.
  Knowledge known(table_of({6.5F / 9}), 1);
  TrackedDeviationSampler sampler(known);
  EXPECT_NEAR(sampler.tracked({0}).right, 5.778, 1e-3);
  EXPECT_NEAR(sampler.tracked({0}).wrong, 2.222, 1e-3);
  const double p = sampler.tracked({0}).prior();
  EXPECT_NEAR(std::sqrt(p * (1 - p)) + 0.05, 0.4979, 1e-4);
  GroupReport r = group(0, 1, 1);
  r.drift = 0.06;  // halves the evidence, but no more than 0.875 of it may go
  sampler.learn({r});
  EXPECT_NEAR(sampler.tracked({0}).right, 6.0556, 1e-4);
  EXPECT_NEAR(sampler.tracked({0}).wrong, 1.9444, 1e-4);
  EXPECT_NEAR(sampler.tracked({0}).prior(), 0.7569, 1e-4);
}

TEST(Spo, DrawsByTheWeightOfThePaper) {
  const auto d =
      make_scheduler({"spo"}, {}, table_of({6.5F / 9, 0.0F}), 1)
          ->begin_step(
              {.step = 0, .prompts = 2, .budget = 2, .min_rollouts = 1, .max_rollouts = 1});
  const double own = d.groups[0].id.prompt.value == 0 ? 0.4979 : 0.05;
  EXPECT_NEAR(d.probability[0], own / 0.5479, 1e-4);
  EXPECT_NEAR(d.probability[1], 1.0, 1e-12);
}

TEST(Mmr1, ScoresAndHalves) {
  std::vector<float> prior(40, 0.0F);
  for (const std::size_t p : {3, 11, 19, 27}) prior[p] = 0.5F;
  prior[0] = 0.125F;
  Knowledge known(table_of(prior), 1);
  VarianceMixSampler sampler(known);
  EXPECT_DOUBLE_EQ(sampler.score(0, {3}), 0.25);
  EXPECT_NEAR(sampler.score(0, {0}), 0.1094, 1e-4);
  EXPECT_DOUBLE_EQ(sampler.score(0, {1}), 0.0);
  prior[0] = 0.0F;  // now the four can be drawn by score, nobody else
  const auto d =
      make_scheduler({"mmr1"}, {}, table_of(prior), 1)
          ->begin_step(
              {.step = 0, .prompts = 8, .budget = 8, .min_rollouts = 1, .max_rollouts = 1});
  std::set<std::uint64_t> scored, all;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i < 4) scored.insert(d.groups[i].id.prompt.value);
    all.insert(d.groups[i].id.prompt.value);
  }
  EXPECT_EQ(scored, (std::set<std::uint64_t>{3, 11, 19, 27}));
  EXPECT_EQ(all.size(), 8U);
}

/// Nobody solves anything, so that the scored half goes by diversity alone: to the prompt whose
/// answers differ, and after a restart as well.
TEST(Mmr1, DiversityIsASecondScore) {
  const Knobs knobs = {{"outcome_weight", "0.8"}, {"diversity_weight", "0.2"}};
  const auto chosen = [&](Scheduler& policy) {
    std::set<std::uint64_t> scored;
    const auto d = policy.begin_step(
        {.step = 1, .prompts = 8, .budget = 8, .min_rollouts = 1, .max_rollouts = 1});
    for (std::size_t i = 0; i < 4; ++i) scored.insert(d.groups[i].id.prompt.value);
    return scored;
  };
  const std::vector<float> hopeless(40, 0.0F);
  const auto policy = make_scheduler({"mmr1"}, knobs, table_of(hopeless), 1),
             again = make_scheduler({"mmr1"}, knobs, table_of(hopeless), 1);
  std::vector<GroupReport> reports;
  for (std::uint64_t p = 0; p < 40; ++p) {
    GroupReport report{.id = {0, {p}, 0}};
    report.rewards = {0, 0}, report.correct = {0, 0}, report.lengths = {3, 3};
    report.diversity = p % 10 == 3 ? 0.9 : 0.0;
    reports.push_back(report);
  }
  policy->begin_step(
      {.step = 0, .prompts = 40, .budget = 80, .min_rollouts = 2, .max_rollouts = 2});
  policy->end_step(reports);
  again->load(policy->save());
  EXPECT_EQ(chosen(*policy), (std::set<std::uint64_t>{3, 13, 23, 33}));
  EXPECT_EQ(chosen(*again), (std::set<std::uint64_t>{3, 13, 23, 33}));
}

TEST(Mmr1, RewardVarianceRisesOverUniform) {
  const auto mmr1 = make_scheduler({"mmr1"}, {}, prompt_table(60, 1), 1),
             uniform = make_scheduler({"uniform"}, {}, prompt_table(60, 1), 1);
  EXPECT_LT(dead_share(*mmr1, kStep, 20, 30, thirds),
            0.9 * dead_share(*uniform, kStep, 20, 30, thirds));
}

}  // namespace
}  // namespace rollcall::scheduling
