// Bernoulli answers, the policy gradient of a logistic skill, and its transfer to neighbouring skills.
#include "scheduling/simulation.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "scheduling/composed.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr std::int32_t kDomains = 8, kLevels = 5;
constexpr double kLocation = 1.0, kScale = 1.5;         // of the difficulty: a third of the prompts is passed at skill 0
constexpr double kToNextLevel = 0.3, kToDomains = 0.1;  // share of a gain that reaches a neighbouring level, the same level of another domain
using Skills = std::array<double, std::size_t(kDomains* kLevels)>;

double pass_probability(const Skills& skills, const Population& population, std::uint64_t p) {
  return 1.0 / (1.0 + std::exp(double(population.difficulty[p]) - skills[population.cell[p]]));
}

/// Student's t with 3 degrees of freedom: no fourth moment, a few prompts that nothing ever solves.
double heavy_tailed(const RandomStream& stream) {
  double square = 0.0;
  for (std::uint64_t i = 1; i <= 3; ++i) square += stream.normal(i) * stream.normal(i);
  return stream.normal(0) / std::sqrt(square / 3.0);
}

GroupReport answer(const GroupPlan& plan, double probability, std::uint64_t seed) {
  GroupReport report;
  report.id = plan.id, report.level = plan.level;
  const RandomStream stream(seed, RandomPurpose::sampling, plan.id.step, plan.id.prompt.value, plan.id.draw);
  for (std::uint32_t s = plan.first_sample; s < plan.first_sample + plan.count; ++s) {
    const bool right = stream.uniform(s) < probability;
    report.rewards.push_back(right), report.correct.push_back(right), report.lengths.push_back(1);
  }
  return report;
}

/// All rounds of a step.
std::vector<GroupReport> draw(Policy& policy, const StepRequest& request, const Population& population, const Skills& skills, std::uint64_t seed) {
  std::vector<GroupReport> all;
  for (Decision decision = policy.begin_step(request);;) {
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : decision.groups) reports.push_back(answer(plan, pass_probability(skills, population, plan.id.prompt.value), seed));
    std::sort(reports.begin(), reports.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    merge_reports(all, reports);
    if (decision.last_round) return all;
    decision = policy.next_round(request, reports);
  }
}

/// sum_j w A_j (r_j - p) over the trained rollouts: the gradient of log-probability times advantage by the skill. Fills in what the update would report.
double gradient(GroupReport& report, const GroupTraining* training, double probability) {
  const auto n = double(report.rewards.size());
  const double mean = std::accumulate(report.rewards.begin(), report.rewards.end(), 0.0) / n;
  double sum = 0.0, size = 0.0;
  for (std::size_t j = 0; j < report.rewards.size(); ++j) {
    const double advantage = report.rewards[j] - mean;
    const bool trains = training == nullptr || training->keep.empty() || training->keep[j] != 0;
    if (trains) sum += advantage * (report.rewards[j] - probability);
    size += std::abs(advantage);
  }
  report.loss = 0.0;  // a centred advantage sums to zero over its group, and so does the on-policy surrogate
  report.mean_abs_advantage = size / n;
  return training == nullptr ? sum : training->weight * sum;
}

void transfer(Skills& skills, const Skills& gained) {
  for (std::int32_t d = 0; d < kDomains; ++d) {
    for (std::int32_t l = 0; l < kLevels; ++l) {
      const auto gain = [&](std::int32_t domain, std::int32_t level) { return gained[std::size_t(domain * kLevels + level)]; };
      double& skill = skills[std::size_t(d * kLevels + l)];
      skill += gain(d, l);
      if (l > 0) skill += kToNextLevel * gain(d, l - 1);
      if (l + 1 < kLevels) skill += kToNextLevel * gain(d, l + 1);
      for (std::int32_t other = 0; other < kDomains; ++other) skill += other == d ? 0.0 : kToDomains * gain(other, l);
    }
  }
}

void measure(SimulationPoint& point, const Population& population, const Skills& skills) {
  double all = 0.0, hard = 0.0, count = 0.0;
  for (std::uint64_t p = 0; p < population.difficulty.size(); ++p) {
    const double passed = pass_probability(skills, population, p);
    all += passed;
    hard += population.hard[p] * passed, count += population.hard[p];
  }
  point.pass_rate = all / double(population.difficulty.size());
  point.hardest_fifth = hard / count;
}

/// Learner and policy learn the step; the point's totals go on.
void learn(Policy& policy, const StepRequest& request, std::vector<GroupReport> reports, const Population& population, double rate, Skills& skills,
           SimulationPoint& point) {
  const Training training = policy.settle(request, reports);
  std::map<GroupId, const GroupTraining*> chosen;
  for (const auto& group : training.groups) chosen[group.id] = &group;
  Skills gained{};
  for (GroupReport& report : reports) {
    const auto found = chosen.find(report.id);
    const std::uint64_t p = report.id.prompt.value;
    const double signal = gradient(report, found == chosen.end() ? nullptr : found->second, pass_probability(skills, population, p));
    gained[population.cell[p]] += rate * signal / double(std::max<std::int64_t>(training.trained, 1));
    point.signal += signal;
    point.zero_variance += std::adjacent_find(report.rewards.begin(), report.rewards.end(), std::not_equal_to<>()) == report.rewards.end() ? 1 : 0;
  }
  point.groups += std::int64_t(reports.size());
  point.drawn += training.drawn, point.trained += training.trained;
  transfer(skills, gained);
  policy.end_step(reports);
}

}  // namespace

Population make_population(const Simulation& s) {
  require<ConfigError>(s.prompts >= 5 && s.prompts < (std::uint64_t{1} << 32), "a simulation of so few or so many prompts",
                       "it is divided into fifths, and prompts are numbered with 32 bits", "choose from 5 to 4e9 prompts");
  Population population;
  for (std::uint64_t p = 0; p < s.prompts; ++p) {
    population.difficulty.push_back(float(kLocation + kScale * heavy_tailed(RandomStream(s.seed, RandomPurpose::task, 0, p))));
  }
  std::vector<std::uint32_t> order(s.prompts);
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return std::pair(population.difficulty[a], a) < std::pair(population.difficulty[b], b); });
  population.table.level.resize(s.prompts), population.table.domain.resize(s.prompts);
  population.cell.resize(s.prompts), population.hard.resize(s.prompts);
  for (std::uint64_t i = 0; i < s.prompts; ++i) {
    const std::uint32_t p = order[i];
    const auto level = std::int32_t(i * std::uint64_t(kLevels) / s.prompts);
    const auto domain = std::int32_t(RandomStream(s.seed, RandomPurpose::task, 1, p).below(0, std::uint64_t(kDomains)));
    population.table.level[p] = level + 1, population.table.domain[p] = domain;
    population.cell[p] = std::uint8_t(domain * kLevels + level);
    population.hard[p] = level + 1 == kLevels ? 1 : 0;
  }
  return population;
}

std::vector<SimulationPoint> simulate(Policy& policy, const Population& population, const Simulation& s) {
  Skills skills{};
  SimulationPoint point;
  measure(point, population, skills);
  std::vector<SimulationPoint> curve = {point};
  for (std::int64_t step = 1; step <= s.steps; ++step) {
    const StepRequest request{.step = std::uint64_t(step),
                              .prompts = s.prompts_per_step,
                              .budget = s.prompts_per_step * s.rollouts_per_prompt,
                              .min_rollouts = s.min_rollouts,
                              .max_rollouts = s.max_rollouts,
                              .progress = double(step - 1) / double(s.steps)};
    learn(policy, request, draw(policy, request, population, skills, s.seed), population, s.rate, skills, point);
    if (step * s.points / s.steps == (step - 1) * s.points / s.steps) continue;
    point.step = step;
    measure(point, population, skills);
    curve.push_back(point);
  }
  return curve;
}

}  // namespace rollcall::scheduling
