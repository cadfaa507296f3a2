// What does a scheduling policy cost a step? Decision, settling and learning of 512 prompts among
// 14,000; the time between, when rollouts are made, not counted.
#include "base/numbers/random.hpp"
#include "scheduling/scheduler.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

namespace {

using namespace rollcall;
using namespace rollcall::scheduling;

// the sizes of arXiv:2601.19280
constexpr std::int64_t kPrompts = 512, kMean = 4, kPopulation = 14'000;

GroupReport outcome(const GroupPlan& plan) {
  GroupReport r;
  r.id = plan.id;
  r.level = plan.level;
  const RandomStream random(9, RandomPurpose::test, plan.id.step, plan.id.prompt.value);
  for (std::uint32_t s = 0; s < plan.count; ++s) {
    const bool right = random.uniform(s) < double(plan.id.prompt.value % 100) / 100.0;
    r.correct.push_back(right);
    r.rewards.push_back(right);
    r.lengths.push_back(64);
  }
  return r;
}

/// Processor time of this thread: a busy machine does not count.
double seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

void step(benchmark::State& state, const std::string& row, const Knobs& knobs = {}) {
  PromptTable table;
  for (std::int64_t p = 0; p < kPopulation; ++p) {
    table.level.push_back(std::int32_t(p % 5));
    table.prior.push_back(float(p % 100) / 100.0F);
  }
  const auto policy = make_scheduler({row}, knobs, table, 1);
  double worst = 0.0;
  std::uint64_t number = 0;
  for (auto _ : state) {
    const StepRequest request{.step = number++,
                              .prompts = kPrompts,
                              .budget = kPrompts * kMean,
                              .min_rollouts = 1,
                              .max_rollouts = 16};
    const double start = seconds();
    const Decision decision = policy->begin_step(request);  // rows of one round
    const double decided = seconds();
    std::vector<GroupReport> reports;
    for (const auto& plan : decision.groups) reports.push_back(outcome(plan));
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    const double reported = seconds();
    policy->settle(request, reports);
    policy->end_step(reports);
    const double took = decided - start + seconds() - reported;
    state.SetIterationTime(took);
    worst = std::max(worst, took);
  }
  state.counters["worst_ms"] = worst * 1e3;
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::string row :
       {"uniform", "uniform_sqrt", "ucb", "thompson", "gdro_reweight", "gdro_resample",
        "rollout_gdro", "gdro_both", "gdro_both_resample", "gdro_sqrt"}) {
    benchmark::RegisterBenchmark(row.c_str(), [row](benchmark::State& state) { step(state, row); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  // Prior success spreads the prompts over all bins from the first step, and the widest margin
  // keeps most of them there.
  const Knobs ten = {{"bin_edges", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]"},
                     {"bin_margin", "0.5"}};
  benchmark::RegisterBenchmark("rollout_gdro, ten bins",
                               [ten](benchmark::State& state) { step(state, "rollout_gdro", ten); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
