// Answers by chance, the policy gradient of the answers, and a learner that follows it.
#include "scheduling/trace/simulation.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"
#include "scheduling/composed.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr double kHeadNoise = 2.0;  // of a quality head, around -1 for a wrong rollout and 1 for a
                                    // right one; it ranks 76 % of such pairs correctly
constexpr double kDiversityNoise = 0.1;  // of a measured share
// Addresses in a group's stream: number s decides the outcome of rollout s, number kHead + s is the
// noise in the quality head's view of it, and number kDiversity is the error of the group's
// diversity.
constexpr std::uint64_t kHead = std::uint64_t{1} << 32, kDiversity = std::uint64_t{1} << 33;

/// Columns of the reports that only some schedulers need.
struct Columns {
  bool predicted = false, diversity = false;
};

Columns columns_for(const Scheduler& policy) {
  Columns columns;
  for (const Need& need : policy.traits().needs) {
    columns.predicted |= need.field == "predicted", columns.diversity |= need.field == "diversity";
    const bool known = need.field == "predicted" || need.field == "diversity" ||
                       need.field == "prior" || need.field == "domain";
    require<ConfigError>(known,
                         fmt::format("the policy needs {}, which is not simulated", need.field),
                         need.reason, "choose another policy");
  }
  return columns;
}

/// A run of a scheduler, step by step.
class Run {
 public:
  Run(Scheduler& policy, const Population& population, const Simulation& simulation)
      : policy_(&policy),
        population_(&population),
        seed_(simulation.seed),
        help_(simulation.help),
        columns_(columns_for(policy)),
        learner_(simulation.rate, simulation.noise, seed_) {}
  void step(const StepRequest& request);
  SimulationPoint point(std::int64_t step) const;

 private:
  RandomStream stream(const GroupId& id) const {
    return {seed_, RandomPurpose::sampling, id.step, id.prompt.value, id.draw};
  }
  double pass_probability(std::uint64_t prompt, std::int32_t tier = 0) const {
    return learner_.pass_probability(population_->difficulty[prompt] - help_ * double(tier),
                                     population_->cell[prompt]);
  }
  GroupReport answer(const GroupPlan& plan) const;
  double diversity(const GroupReport& report) const;
  std::vector<GroupReport> draw(const StepRequest& request);
  void train(GroupReport& report, const GroupTraining* training, StepGradient& gradient);

  Scheduler* policy_;
  const Population* population_;
  std::uint64_t seed_;
  double help_;
  Columns columns_;
  Learner learner_;
  SimulationPoint totals_;
};

GroupReport Run::answer(const GroupPlan& plan) const {
  GroupReport report;
  report.id = plan.id, report.level = plan.level, report.from = plan.from;
  const double p = pass_probability(plan.id.prompt.value, plan.from.tier);
  const RandomStream random = stream(plan.id);
  for (std::uint32_t s = plan.first_sample; s < plan.first_sample + plan.count; ++s) {
    const bool correct = random.uniform(s) < p;
    report.rewards.push_back(correct), report.correct.push_back(correct),
        report.lengths.push_back(1);
    if (!columns_.predicted) continue;
    const double seen = (correct ? 1.0 : -1.0) + kHeadNoise * random.normal(kHead + s);
    // Bayes' rule for a wrong and a right rollout, which the head sees as normal values around -1
    // and 1. So its prediction is calibrated.
    const double against = (1.0 - p) / p * std::exp(-2.0 * seen / (kHeadNoise * kHeadNoise));
    report.predicted.push_back(1.0 / (1.0 + against));
  }
  return report;
}

/// Right answers share one text and wrong ones all differ: the share of distinct texts, measured
/// with an error.
double Run::diversity(const GroupReport& report) const {
  const double n = double(report.correct.size()), passed = right(report);
  return std::clamp((n - passed + (passed > 0 ? 1.0 : 0.0)) / n +
                        kDiversityNoise * stream(report.id).normal(kDiversity),
                    0.0, 1.0);
}

/// Plays all rounds of a step.
std::vector<GroupReport> Run::draw(const StepRequest& request) {
  std::vector<GroupReport> all;
  for (Decision decision = policy_->begin_step(request);;) {
    std::vector<GroupReport> reports;
    for (const GroupPlan& plan : decision.groups) reports.push_back(answer(plan));
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    merge_reports(all, reports);
    if (decision.last_round) break;
    decision = policy_->next_round(request, reports);
  }
  for (GroupReport& report : all) {
    if (columns_.diversity) report.diversity = diversity(report);
  }
  return all;
}

/// Adds the trained rollouts' A (r - p) and A^2. Fills in the values that the update would report.
void Run::train(GroupReport& report, const GroupTraining* training, StepGradient& gradient) {
  const std::uint64_t prompt = report.id.prompt.value;
  const auto n = double(report.rewards.size());
  const double mean = std::accumulate(report.rewards.begin(), report.rewards.end(), 0.0) / n,
               p = pass_probability(prompt, report.from.tier);
  double signal = 0.0, squares = 0.0, size = 0.0;
  for (std::size_t j = 0; j < report.rewards.size(); ++j) {
    const double advantage = report.rewards[j] - mean;
    const bool trains = training == nullptr || training->keep.empty() || training->keep[j] != 0;
    if (trains) signal += advantage * (report.rewards[j] - p), squares += advantage * advantage;
    size += std::abs(advantage);
  }
  report.loss = 0.0;  // a centred advantage sums to zero over its group, and so does the on-policy
                      // surrogate
  report.mean_abs_advantage = size / n;
  const double weight = training == nullptr ? 1.0 : training->weight;
  gradient.signal[population_->cell[prompt]] += weight * signal;
  gradient.squares += weight * weight * squares;
  totals_.signal += signal;
  totals_.groups += 1, totals_.zero_variance += informative(report) ? 0 : 1;
}

void Run::step(const StepRequest& request) {
  std::vector<GroupReport> reports = draw(request);
  const Training training = policy_->settle(request, reports);
  std::map<GroupId, const GroupTraining*> chosen;
  for (const auto& group : training.groups) chosen[group.id] = &group;
  StepGradient gradient;
  for (GroupReport& report : reports) {
    const auto found = chosen.find(report.id);
    train(report, found == chosen.end() ? nullptr : found->second, gradient);
  }
  totals_.drawn += training.drawn, totals_.trained += training.trained;
  learner_.step(gradient);
  policy_->end_step(reports);
}

SimulationPoint Run::point(std::int64_t step) const {
  SimulationPoint point = totals_;
  double all = 0.0, hard = 0.0, count = 0.0;
  for (std::uint64_t p = 0; p < population_->difficulty.size(); ++p) {
    const double passed = pass_probability(p);
    all += passed;
    hard += population_->hard[p] * passed, count += population_->hard[p];
  }
  point.step = step;
  point.pass_rate = all / double(population_->difficulty.size());
  point.hardest_fifth = hard / count;
  return point;
}

}  // namespace

std::vector<SimulationPoint> simulate(Scheduler& policy, const Population& population,
                                      const Simulation& s) {
  Run run(policy, population, s);
  std::vector<SimulationPoint> curve = {run.point(0)};
  for (std::int64_t step = 1; step <= s.steps; ++step) {
    run.step({.step = std::uint64_t(step),
              .prompts = s.prompts_per_step,
              .budget = s.prompts_per_step * s.rollouts_per_prompt,
              .min_rollouts = s.min_rollouts,
              .max_rollouts = s.max_rollouts,
              .progress = double(step - 1) / double(s.steps)});
    if (step * s.points / s.steps != (step - 1) * s.points / s.steps)
      curve.push_back(run.point(step));
  }
  return curve;
}

}  // namespace rollcall::scheduling
