// The simulated run: what its learner may not be sold, and what schedulers buy of it.
#include "scheduling/trace/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace rollcall::scheduling {
namespace {

Simulation small(std::uint64_t seed = 1) {
  return {.prompts = 4000, .seed = seed, .steps = 100, .prompts_per_step = 128, .points = 10};
}
Population population_of(const Simulation& s) { return make_population(s.prompts, s.seed); }

std::vector<SimulationPoint> run(const std::string& row, const Simulation& s,
                                 const Knobs& knobs = {}) {
  const Population population = population_of(s);
  return simulate(*make_scheduler({.row = row}, knobs, population, s.seed), population, s);
}

/// A policy with its weights multiplied, or with groups drawn in addition.
class Changed final : public Scheduler {
 public:
  explicit Changed(std::unique_ptr<Scheduler> policy, double scale,
                   std::vector<GroupPlan> added = {})
      : policy_(std::move(policy)), scale_(scale), added_(std::move(added)) {}
  Decision begin_step(const StepRequest& request) override {
    Decision decision = policy_->begin_step(request);
    for (GroupPlan group : added_) group.id.step = request.step, decision.groups.push_back(group);
    return decision;
  }
  Training settle(const StepRequest& request, const std::vector<GroupReport>& reports) override {
    Training training = policy_->settle(request, reports);
    std::map<GroupId, GroupTraining> groups;
    for (const auto& report : reports) groups[report.id] = {.id = report.id};
    for (const auto& group : training.groups) groups[group.id] = group;
    training.groups.clear();
    for (auto& [id, group] : groups) group.weight *= scale_, training.groups.push_back(group);
    return training;
  }
  void hear_again(std::vector<GroupReport> reports) override {
    policy_->hear_again(std::move(reports));
  }
  Decision next_round(const StepRequest& request,
                      const std::vector<GroupReport>& reports) override {
    return policy_->next_round(request, reports);
  }
  void end_step(const std::vector<GroupReport>& reports) override { policy_->end_step(reports); }
  const PolicyTraits& traits() const override { return policy_->traits(); }
  std::int64_t hard_cap(const StepRequest& request) const override {
    return policy_->hard_cap(request);
  }
  std::string save() const override { return policy_->save(); }
  PolicyParts save_parts(Rows which) override { return policy_->save_parts(which); }
  LoadReport load_parts(const PolicyParts& parts,
                        const std::vector<std::uint64_t>& content) override {
    return policy_->load_parts(parts, content);
  }
  const std::vector<std::uint64_t>& content() const override { return policy_->content(); }
  LoadReport load(const std::string& state) override { return policy_->load(state); }
  std::int32_t bin(PromptId prompt) const override { return policy_->bin(prompt); }
  double weight(PromptId prompt) const override { return scale_ * policy_->weight(prompt); }
  std::vector<std::pair<std::string, double>> metrics() const override {
    return policy_->metrics();
  }

 private:
  std::unique_ptr<Scheduler> policy_;
  double scale_;
  std::vector<GroupPlan> added_;
};

TEST(Population, FifthsAreFifthsAndTheTailIsHeavy) {
  const Population population = population_of(small());
  std::map<std::int32_t, int> levels;
  for (const auto level : population.table.level) ++levels[level];
  EXPECT_EQ(levels,
            (std::map<std::int32_t, int>{{1, 800}, {2, 800}, {3, 800}, {4, 800}, {5, 800}}));
  EXPECT_EQ(std::accumulate(population.hard.begin(), population.hard.end(), 0), 800);
  int far = 0;  // beyond 5 scales: 1.5 % of Student's t with 3 degrees of freedom, 6e-7 of a normal
  for (const float d : population.difficulty) far += std::abs(double(d) - 1.0) > 5 * 1.5;
  EXPECT_GT(far, 30);
  EXPECT_LT(far, 100);
}

TEST(Population, LabelsAndPriorsTellSomethingAndMissALot) {
  const Population population = population_of(small());
  int right = 0, far = 0;
  double error = 0.0;
  for (std::size_t p = 0; p < 4000; ++p) {
    const int off = std::abs(population.table.level[p] - 1 - population.cell[p] % kSkillLevels);
    right += off == 0, far += off >= 2;
    const double prior = population.table.prior[p],
                 logit = std::log(prior / (1 - prior)) + population.difficulty[p];
    error += std::isfinite(logit) ? logit * logit / 4000 : 0.0;
  }
  EXPECT_NEAR(right / 4000.0, 0.42, 0.05);
  EXPECT_GT(far, 400);
  EXPECT_NEAR(std::sqrt(error), 1.0, 0.05);
}

TEST(Population, PriorsAreToldToWhomThatNeedsThem) {
  const Simulation s = small();
  Population population = population_of(s);
  const auto first = [&](const std::string& row) {
    std::string counts;
    for (const auto& group :
         make_scheduler({.row = row}, {}, population, 1)
             ->begin_step(
                 {.step = 1, .prompts = 64, .budget = 512, .min_rollouts = 1, .max_rollouts = 32})
             .groups) {
      counts += std::to_string(group.count) + ' ';
    }
    return counts;
  };
  const std::string with = first("v0"), without = first("uniform_sqrt");
  std::reverse(population.table.prior.begin(), population.table.prior.end());
  EXPECT_NE(first("v0"), with);
  EXPECT_EQ(first("uniform_sqrt"), without);
}

TEST(Simulation, TheLearnerLearnsAndCountsAddUp) {
  const auto curve = run("uniform", small());
  ASSERT_EQ(curve.size(), 11U);
  EXPECT_EQ(curve.back().step, 100);
  EXPECT_EQ(curve.back().drawn, 100 * 128 * 8);
  EXPECT_EQ(curve.back().trained, curve.back().drawn);
  EXPECT_EQ(curve.back().groups, 100 * 128);
  EXPECT_GT(curve.back().pass_rate, curve.front().pass_rate + 0.05);
  EXPECT_LT(curve.back().hardest_fifth, curve.back().pass_rate);
}

TEST(Simulation, IsAFunctionOfItsSettings) {
  const auto a = run("uniform_sqrt", small()), b = run("uniform_sqrt", small()),
             c = run("uniform_sqrt", small(2));
  EXPECT_EQ(a.back().pass_rate, b.back().pass_rate);
  EXPECT_EQ(a.back().signal, b.back().signal);
  EXPECT_NE(a.back().pass_rate, c.back().pass_rate);
}

// One skill, difficulty 0, no noise: Adam's first step is the rate in every coordinate that counts,
// so the skill gains 2.3 of it, whatever trains.
TEST(Simulation, TheFirstStepIsTheRateWhateverTrains) {
  Simulation s = small();
  s.prompts = 400, s.steps = 1, s.points = 1, s.noise = 0.0;
  const Population population{std::vector<float>(400, 0.0F),
                              std::vector<std::uint8_t>(400, 7),
                              std::vector<std::uint8_t>(400, 1),
                              {.level = std::vector<std::int32_t>(400, 3)}};
  for (const char* row : {"uniform", "pods", "gdro_reweight"}) {
    const auto end =
        simulate(*make_scheduler({.row = row}, {}, population, s.seed), population, s).back();
    EXPECT_GT(end.signal, 0.0);
    EXPECT_NEAR(end.pass_rate, 1 / (1 + std::exp(-2.3 * s.rate)), 1e-9) << row;
  }
}

TEST(Simulation, WhatIsNotKeptDoesNotTrain) {
  Simulation frozen = small();
  frozen.rate = 0.0;
  const auto all = run("uniform", frozen).back(), some = run("pods", frozen).back();
  EXPECT_EQ(some.drawn, all.drawn);
  EXPECT_LT(some.trained, all.trained);
  EXPECT_LT(some.signal, 0.8 * all.signal);
}

TEST(Simulation, TwiceTheWeightBuysNothing) {
  const Simulation s = small();
  const Population population = population_of(s);
  for (const char* row : {"uniform", "gdro_reweight", "dapo"}) {
    const auto once =
        simulate(*make_scheduler({.row = row}, {}, population, s.seed), population, s);
    Changed doubled(make_scheduler({.row = row}, {}, population, s.seed), 2.0);
    const auto twice = simulate(doubled, population, s);
    for (std::size_t i = 0; i < once.size(); ++i) {
      EXPECT_NEAR(once[i].pass_rate, twice[i].pass_rate, 1e-6) << row << ' ' << i;
      EXPECT_NEAR(once[i].hardest_fifth, twice[i].hardest_fifth, 1e-6) << row << ' ' << i;
    }
  }
}

TEST(Simulation, DeadGroupsTeachNothing) {
  const Simulation s = small();
  Population population = population_of(s);
  std::vector<GroupPlan> dead;
  for (std::uint64_t p = 0; p < 50; ++p) {
    population.difficulty[p] = p % 2 == 0 ? 1000.0F : -1000.0F;
    dead.push_back({.id = {0, {p}, 1000}, .level = 1, .first_sample = 0, .count = 8});
  }
  const auto without =
      simulate(*make_scheduler({.row = "uniform"}, {}, population, s.seed), population, s).back();
  Changed more(make_scheduler({.row = "uniform"}, {}, population, s.seed), 1.0, dead);
  const auto with = simulate(more, population, s).back();
  EXPECT_EQ(with.groups, without.groups + 50 * s.steps);
  EXPECT_EQ(with.zero_variance, without.zero_variance + 50 * s.steps);
  EXPECT_EQ(with.signal, without.signal);
  EXPECT_EQ(with.pass_rate, without.pass_rate);
}

double gained(std::int64_t prompts, std::int64_t rollouts, double noise) {
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Simulation s = small(seed);
    s.steps = 60, s.points = 1, s.prompts_per_step = prompts, s.rollouts_per_prompt = rollouts,
    s.noise = noise;
    const auto curve = run("uniform", s);
    sum += (curve.back().pass_rate - curve.front().pass_rate) / 6;
  }
  return sum;
}

// The noise of a sum falls with the root of its terms, and Adam moves by signal over noise: twice
// the rollouts help, and less than twice.
TEST(Simulation, ReturnsOfRolloutsAndOfPromptsDiminish) {
  const double noise = Simulation{}.noise;
  std::vector<double> by_rollouts, by_prompts;
  for (const std::int64_t n : {2, 4, 8, 16}) by_rollouts.push_back(gained(64, n, noise));
  for (const std::int64_t prompts : {16, 32, 64, 128})
    by_prompts.push_back(gained(prompts, 8, noise));
  for (const auto& gain : {by_rollouts, by_prompts}) {
    EXPECT_GT(gain[0], 0.0);
    for (std::size_t i = 1; i < gain.size(); ++i) {
      EXPECT_GT(gain[i], 1.1 * gain[i - 1]) << i;
      EXPECT_LT(gain[i], 1.9 * gain[i - 1]) << i;
    }
  }
}

// Directions are held only where the same policy made deaf does not have them; SIMULATION.md says
// which do not pass that.
TEST(Simulation, WhatIsLearnedOfPromptsBuysPassRateAndDeafPoliciesDoNotHaveIt) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double equal = run("uniform", small(seed)).back().pass_rate;
    for (const auto& [row, least] : {std::pair("uniform_sqrt", 0.002), std::pair("pcl", 0.01)}) {
      EXPECT_GT(run(row, small(seed)).back().pass_rate, equal + least) << row << ' ' << seed;
      EXPECT_NEAR(run(row, small(seed), {{"control", "constant"}}).back().pass_rate, equal, least)
          << row << ' ' << seed;
    }
  }
}

/// Help that takes two off the difficulty of a tier finds more to learn with fewer rollouts than
/// help that says nothing, which is asked for to the last tier.
TEST(Simulation, HelpSavesRolloutsAndBringsSignal) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Simulation s = small(seed);
    s.prompts = 1000, s.steps = 15, s.prompts_per_step = 64, s.help = 2.0;
    const SimulationPoint helped = run("ghpo", s).back();
    s.help = 0.0;
    const SimulationPoint deaf = run("ghpo", s).back();
    EXPECT_GT(helped.signal, 1.05 * deaf.signal) << seed;
    EXPECT_LT(helped.drawn, deaf.drawn) << seed;
    EXPECT_GT(helped.drawn, run("uniform", s).back().drawn) << seed;
  }
}

TEST(Simulation, EveryPolicyRunsWithinItsCap) {
  Simulation s = small();
  s.prompts = 1000, s.steps = 15, s.prompts_per_step = 64;
  const Population population = population_of(s);
  for (const auto& name : policy_names()) {
    const auto policy = make_scheduler({.row = name}, {}, population, s.seed);
    const std::int64_t cap = policy->hard_cap(
        {.step = 1, .prompts = 64, .budget = 512, .min_rollouts = 2, .max_rollouts = 32});
    const auto end = simulate(*policy, population, s).back();
    EXPECT_GT(end.signal, 0.0) << name;
    EXPECT_LE(end.drawn, 15 * cap) << name;
    EXPECT_LE(end.trained, end.drawn) << name;
    if (policy->traits().exact_total) {
      EXPECT_EQ(end.drawn, 15 * 512) << name;
    }
  }
}

}  // namespace
}  // namespace rollcall::scheduling
