// What does a policy cost with a hundred million prompts? Memory, time a prompt, and the slowest
// batches, each policy in a process of its own.
#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "scheduling/scheduler.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace rollcall;

constexpr std::int64_t kBatch = 1024, kRollouts = 8;

double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024 * 1e-9;
}

/// Pass rates from 1/16 to 15/16 by prompt, outcomes by a hash of the address, so that bins and
/// counts move.
std::vector<GroupReport> outcomes(const scheduling::Decision& decision) {
  std::vector<GroupReport> reports;
  reports.reserve(decision.groups.size());
  for (const auto& group : decision.groups) {
    GroupReport report{.id = group.id, .level = group.level};
    const std::uint64_t p = group.id.prompt.value;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const std::uint64_t draw =
          (p * 0x9E3779B97F4A7C15ULL + group.id.step * 0xBF58476D1CE4E5B9ULL +
           i * 0x94D049BB133111EBULL) >>
          33;
      const bool right = draw % 16 < p % 15 + 1;
      report.rewards.push_back(right), report.correct.push_back(right),
          report.lengths.push_back(200);
    }
    report.loss = 0.0, report.mean_abs_advantage = 0.5;
    reports.push_back(std::move(report));
  }
  std::sort(reports.begin(), reports.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  return reports;
}

/// One step; the milliseconds that the policy took of it.
double step_ms(scheduling::Scheduler& policy, std::int64_t step, std::int64_t steps) {
  const scheduling::StepRequest request{
      std::uint64_t(step), kBatch, kBatch * kRollouts, 2, 32, double(step) / double(steps)};
  const Stopwatch choosing;
  const auto decision = policy.begin_step(request);
  const double seconds = choosing.seconds();
  const auto reports = outcomes(decision);
  const Stopwatch learning;
  policy.settle(request, reports);
  policy.end_step(reports);
  return 1e3 * (seconds + learning.seconds());
}

/// What a checkpoint holds of the state: bytes, and the milliseconds they take to gather.
std::pair<double, double> saved(scheduling::Scheduler& policy, scheduling::Rows which) {
  const Stopwatch saving;
  const auto parts = policy.save_parts(which);
  const std::size_t bytes = parts.head.size() + scheduling::to_bytes(parts.rows).size();
  return {double(bytes), 1e3 * saving.seconds()};
}

void measure(const std::string& row, std::size_t prompts, std::int64_t steps) {
  constexpr std::int64_t kBetweenCheckpoints = 20;  // checkpoint.every
  scheduling::PromptTable table;
  table.level.resize(prompts);
  for (std::size_t p = 0; p < prompts; ++p) table.level[p] = std::int32_t(p % 8);
  const Stopwatch starting;
  const auto policy = scheduling::make_scheduler({row}, {}, std::move(table), 1);
  const double start_s = starting.seconds();
  std::vector<double> batch_ms;
  for (std::int64_t step = 1; step <= steps; ++step)
    batch_ms.push_back(step_ms(*policy, step, steps + kBetweenCheckpoints));
  double sum = 0.0;
  for (const double ms : batch_ms) sum += ms;
  std::sort(batch_ms.begin(), batch_ms.end());
  const double gb = peak_gb();  // before a copy of the state is made
  const auto [base, base_ms] = saved(*policy, scheduling::Rows::all);
  for (std::int64_t step = steps + 1; step <= steps + kBetweenCheckpoints; ++step)
    step_ms(*policy, step, steps + kBetweenCheckpoints);
  const auto [change, change_ms] = saved(*policy, scheduling::Rows::changed);
  fmt::print(
      "{:<16} {:>11} {:>8.2f} {:>9.1f} {:>13.3f} {:>10.2f} {:>9.2f} {:>12.1f} {:>9.0f} {:>12.2f} {:>9.1f}\n",
      row, prompts, gb, start_s, 1e3 * sum / double(steps * kBatch),
      batch_ms[std::size_t(0.99 * double(steps - 1))], batch_ms.back(), base * 1e-6, base_ms,
      change * 1e-6, change_ms);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: bench_scheduling_scale PROMPTS STEPS [POLICY ...]\n");
    return int(ExitCode::misconfigured);
  }
  const auto prompts = std::size_t(std::atoll(argv[1]));
  const auto steps = std::atoll(argv[2]);
  std::vector<std::string> rows(argv + 3, argv + argc);
  if (rows.empty())
    rows = {"uniform",   "uniform_sqrt", "gdro_resample", "rollout_gdro",
            "gdro_sqrt", "ucb",          "thompson"};
  fmt::print("{:<16} {:>11} {:>8} {:>9} {:>13} {:>10} {:>9} {:>12} {:>9} {:>12} {:>9}\n", "policy",
             "prompts", "peak GB", "start [s]", "us a prompt", "p99 [ms]", "max [ms]", "state [MB]",
             "in [ms]", "20 steps [MB]", "in [ms]");
  std::fflush(stdout);
  for (const auto& row : rows) {
    const pid_t child = fork();  // peak memory is a process's
    if (child == 0) {
      measure(row, prompts, steps);
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}
