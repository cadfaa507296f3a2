// What does a step cost rank 0 on many ranks? The coordinator is the real one, the ranks that it
// speaks to are played. Each number of ranks has a process of its own.
#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/time/clock.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/steps/step_plans.hpp"
#include "run/played_ranks.hpp"
#include "run/small_job.hpp"

#include <fmt/format.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::run;

constexpr int kGroups = 8, kRollouts = 8;  // of a rank, of a group
constexpr int kOnNode = 64;

struct Enough {};  // the second step begins

double peak_gb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) * 1024 * 1e-9;
}

GroupReport sample(const StepPlan& plan, const GroupPlan& group) {
  if (plan.step > 1) throw Enough{};
  GroupReport report{.id = group.id, .level = group.level};
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const bool right = (group.id.prompt.value * 31 + i) % 3 == 0;
    report.rewards.push_back(right);
    report.correct.push_back(right);
    report.lengths.push_back(200);
  }
  return report;
}

/// The groups of a step dealt to the ranks, and nothing else; the least of five times [ms].
double deal_ms(int ranks) {
  std::vector<GroupPlan> groups;
  for (std::uint64_t g = 0; g < std::uint64_t(ranks) * kGroups; ++g)
    groups.push_back({.id = {1, {g}, 0}, .level = 0, .first_sample = 0, .count = kRollouts});
  double least = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    const Stopwatch clock;
    const auto shares = deal(groups, std::size_t(ranks));
    least = std::min(least, 1e3 * clock.seconds());
    if (shares.back().size() != kGroups) std::abort();
  }
  return least;
}

void measure(int ranks, const std::filesystem::path& folder) {
  const double dealing_ms = deal_ms(ranks);
  const int prompts = ranks * kGroups;
  RunContext context = run::test::small_job(
      folder, {"task.max_level=12", fmt::format("task.train_prompts={}", prompts), "sft.steps=0",
               "train.steps=2", fmt::format("train.prompts_per_step={}", prompts),
               fmt::format("train.rollouts_per_prompt={}", kRollouts), "eval.before=false",
               "sampling.max_new_tokens=8", "checkpoint.every=1000", "scheduler.policy=uniform"});
  context.layout = comm::make_layout("colocated", ranks);
  for (int rank = 0; rank < ranks; ++rank) context.layout.nodes.push_back(rank / kOnNode * kOnNode);
  const double before_gb = peak_gb();
  run::test::PlayedRanks played(context.layout, sample);
  Mailbox mail(played);
  Coordinator coordinator(context, mail, [&](const std::string&) { return played.next(); }, {}, {});
  try {
    coordinator.train();
  } catch (const Enough&) {
  }
  const auto& plans = played.sent[Tag::plan];
  const auto& updates = played.sent[Tag::update];
  fmt::print(
      "{:>7} {:>8} {:>10.2f} {:>10.1f} {:>12.1f} {:>11.1f} {:>12.1f} {:>13.1f} {:>13.1f} {:>10.2f} "
      "{:>10.2f}\n",
      ranks, prompts, dealing_ms, 1e3 * (plans.last_s - plans.first_s),
      1e3 * played.worked_s[Tag::scored], 1e3 * (updates.last_s - updates.first_s),
      1e-6 * double(plans.bytes), 1e-6 * double(updates.bytes), 1e-6 * double(played.most_held),
      before_gb, peak_gb());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> all;
  for (int i = 1; i < argc; ++i) all.push_back(std::atoi(argv[i]));
  if (all.empty() || *std::min_element(all.begin(), all.end()) < 2) {
    fmt::print(stderr,
               "usage: bench_scheduling_rank_zero RANKS ...     (2 or more; 1000 10000 100000)\n");
    return int(ExitCode::misconfigured);
  }
  fmt::print(
      "a step of {} groups of {} rollouts a rank, colocated on nodes of {}; held: the most bytes that "
      "rank 0 gives its transport between two waits\n",
      kGroups, kRollouts, kOnNode);
  fmt::print("{:>7} {:>8} {:>10} {:>10} {:>12} {:>11} {:>12} {:>13} {:>13} {:>10} {:>10}\n",
             "ranks", "groups", "deal [ms]", "plans [ms]", "notices [ms]", "update [ms]",
             "plans [MB]", "updates [MB]", "held [MB]", "start [GB]", "peak [GB]");
  std::fflush(stdout);
  for (const int ranks : all) {
    const pid_t child = fork();  // peak memory is a process's
    if (child == 0) {
      const auto folder =
          std::filesystem::temp_directory_path() / fmt::format("rollcall_rank_zero_{}", getpid());
      std::filesystem::create_directories(folder);
      measure(ranks, folder);
      std::filesystem::remove_all(folder);
      std::_Exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return 1;
  }
  return 0;
}
