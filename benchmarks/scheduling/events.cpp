// How many finished rollouts a second can rank 0 hear of and account? The other ranks answer plans
// at once, over the transport and the messages of a real run.
#include "base/numbers/random.hpp"
#include "base/time/clock.hpp"
#include "comm/communicator.hpp"
#include "run/coordinator/steps/step_plans.hpp"
#include "run/messages/mailbox.hpp"
#include "scheduling/composed.hpp"
#include "scheduling/scheduler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::run;

constexpr std::int64_t kSteps = 100, kPrompts = 1024, kRollouts = 8;
constexpr std::size_t kPopulation = 1'000'000, kGroupsPerNotice = 64;

/// A worker: generation and scoring whose results are known beforehand. One notice per shard of 64
/// groups.
void answer_plans(comm::Communicator& world) {
  Mailbox mail(world);
  for (;;) {
    const auto envelope = receive(world, 60, "a plan");
    if (Tag(envelope.tag) == Tag::finish) return;
    const auto plan = from_bytes<StepPlan>(envelope.bytes);
    ScoredNotice notice{.files = {{"shards/train_000001_r0.h5", 1 << 20, 1},
                                  {"shards/train_000001_r0.scores.h5", 1 << 16, 2}},
                        .report = {plan.purpose, plan.step, plan.round, 0, {}}};
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const auto& group = plan.groups[g];
      GroupReport report{.id = group.id, .level = group.level};
      for (std::uint32_t i = 0; i < group.count; ++i) {
        const bool right = (group.id.prompt.value * 31 + plan.step + i) % 3 == 0;
        report.rewards.push_back(right), report.correct.push_back(right),
            report.lengths.push_back(200);
      }
      notice.report.groups.push_back(std::move(report));
      if (notice.report.groups.size() < kGroupsPerNotice && g + 1 < plan.groups.size()) continue;
      mail.send(0, Tag::scored, notice);
      notice.report.groups.clear();
    }
  }
}

double quantile(std::vector<double> values, double q) {
  const auto at = std::size_t(q * double(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(at), values.end());
  return values[at];
}

void play(comm::Communicator& world, const std::string& row) {
  Mailbox mail(world);
  scheduling::PromptTable table;
  for (std::size_t p = 0; p < kPopulation; ++p) table.level.push_back(std::int32_t(p % 8));
  const auto policy = scheduling::make_scheduler({row}, {}, table, 1);
  std::vector<double> decision_us, notice_us;
  std::int64_t events = 0;
  const Stopwatch whole;
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const Stopwatch deciding;
    const scheduling::StepRequest request{
        std::uint64_t(step), kPrompts, kPrompts * kRollouts, 2, 32, double(step) / kSteps};
    const auto groups = policy->begin_step(request).groups;
    const auto shares = deal(groups, std::size_t(world.size() - 1));
    std::size_t left = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      left += shares[r].size();
      mail.send(int(r) + 1, Tag::plan,
                StepPlan{Purpose::train,
                         Split::train,
                         std::uint64_t(step),
                         0,
                         PolicyVersion{},
                         SamplingParams{},
                         {shares[r].begin(), shares[r].end()}});
    }
    double deciding_s = deciding.seconds();
    std::vector<GroupReport> reports;
    while (left > 0) {
      const auto envelope = receive(world, 60, "scored shards");
      const Stopwatch accounting;
      const auto notice = from_bytes<ScoredNotice>(envelope.bytes);
      left -= notice.report.groups.size();
      for (const auto& group : notice.report.groups) events += std::int64_t(group.rewards.size());
      reports.insert(reports.end(), notice.report.groups.begin(), notice.report.groups.end());
      notice_us.push_back(1e6 * accounting.seconds());
    }
    const Stopwatch closing;
    std::sort(reports.begin(), reports.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
    policy->settle(request, reports);
    policy->end_step(reports);
    decision_us.push_back(1e6 * (deciding_s + closing.seconds()));
  }
  const double seconds = whole.seconds();
  for (int r = 1; r < world.size(); ++r) mail.send(r, Tag::finish, 0);
  fmt::print("{:<16} {:>12.3g} {:>14.0f} {:>9.0f} {:>16.1f} {:>9.1f}\n", row,
             double(events) / seconds, quantile(decision_us, 0.5), quantile(decision_us, 0.99),
             quantile(notice_us, 0.5), quantile(notice_us, 0.99));
}

}  // namespace

int main(int argc, char** argv) {
  const comm::MpiScope mpi(&argc, &argv);
  const auto world = mpi.world();
  if (world->size() < 2) {
    fmt::print(
        stderr,
        "one rank has nobody to talk to; start at least two: mpirun -n 2 bench_scheduling_events [POLICY ...]\n");
    return int(ExitCode::misconfigured);
  }
  std::vector<std::string> rows(argv + 1, argv + argc);
  if (rows.empty())
    rows = {"uniform",   "uniform_sqrt", "gdro_resample", "rollout_gdro",
            "gdro_sqrt", "ucb",          "thompson"};
  if (world->rank() == 0) {
    fmt::print(
        "{} steps of {} prompts x {} rollouts from {} prompts, {} ranks; an event is one finished rollout heard of and accounted\n",
        kSteps, kPrompts, kRollouts, kPopulation, world->size());
    fmt::print("{:<16} {:>12} {:>14} {:>9} {:>16} {:>9}\n", "policy", "events/s", "step: median",
               "p99 [us]", "notice: median", "p99 [us]");
  }
  for (const auto& row : rows) world->rank() == 0 ? play(*world, row) : answer_plans(*world);
  return 0;
}
