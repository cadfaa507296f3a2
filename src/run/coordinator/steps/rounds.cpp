// Collects notices, which arrive in any order, and sorts their reports.
#include "run/coordinator/steps/rounds.hpp"

#include "base/errors/log.hpp"
#include "core/derived_prompt.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/steps/step_plans.hpp"
#include "run/messages/purposes.hpp"
#include "scheduling/composed.hpp"
#include "sizing/aggregators.hpp"
#include "sizing/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

void move_to(std::vector<GroupReport>& all, std::vector<GroupReport>& more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

/// Moves the reports on groups that the scheduler has not drawn from `reports` to `derived`.
void part_derived(Round& round) {
  const auto others = std::stable_partition(
      round.reports.begin(), round.reports.end(),
      [](const GroupReport& report) { return is_drawn(kind_of(report.id, report.from)); });
  round.derived.assign(std::move_iterator(others), std::move_iterator(round.reports.end()));
  round.reports.erase(others, round.reports.end());
}

void warn_of_undecided(const std::string& name, const VerdictFacts& v) {
  if (v.undecided == 0) return;
  log_warning(
      "{}: {} of {} verdicts are undecided, on {} answers the judging itself ended (it took too long, died twice or failed), {} are repeated from before the stop; the first: {}{}",
      name, v.undecided, count_of(v), v.ended, v.repeated, v.reason,
      v.slowest.empty() ? ""
                        : fmt::format("; the slowest: {} ({:.1f} s)", v.slowest.front().sample,
                                      v.slowest.front().seconds));
}

}  // namespace

Round Rounds::run(std::vector<StepPlan> plans, HeardRewards* heard) {
  const Purpose purpose = plans.front().purpose;
  const std::uint64_t step = plans.front().step;
  const std::string name = fmt::format("{} step {}", purpose_name(purpose), step);
  const std::string whole = fmt::format("{} round {}", name, plans.front().round);
  const StepTimes times = purpose == Purpose::eval ? StepTimes{} : step_->times();
  const bool aggregated = sizing::aggregates(context_->config, context_->layout);
  // This is an upper bound, because the prompts of a round differ in length.
  const std::int64_t answer =
      sizing::answer_tokens(context_->config, context_->models.policy.max_position_embeddings, 0);
  std::size_t expected = 0;  // files that will be stored, each with one notice
  for (StepPlan& plan : plans) {
    const bool together = aggregated && is_trained_on(plan.purpose);
    expected += send_round(*mail_, context_->layout, std::move(plan), times, together, answer);
  }
  Round round;
  std::vector<GroupReport> reports, greedy;
  std::map<std::uint32_t, double> generation_s;  // [world rank] seconds of sampling
  for (std::size_t i = 0; i < expected; ++i) {
    auto notice = inbox_->await<ScoredNotice>(
        Tag::scored, fmt::format("{} of {} scored shards of {}", expected - i, expected, whole));
    // One rank may generate for two plans.
    for (const auto& [rank, seconds] : notice.generation_s) generation_s[rank] += seconds;
    if (notice.files.shard.path.empty()) {
      round.cut_short = true;
      continue;
    }
    move_to(notice.report.purpose == Purpose::greedy ? greedy : reports, notice.report.groups);
    state_->unpacked.push_back({notice.report.purpose, step, notice.files});
    round.scoring_s = std::max(round.scoring_s, notice.scoring_s);
    add(round.verdicts, notice.verdicts);
    round.figures.add(notice.figures);
    records_->add(notice.verdicts);
    if (heard != nullptr) heard->add(notice.rollouts);
    std::move(notice.specimens.begin(), notice.specimens.end(),
              std::back_inserter(round.specimens));
    round.archive_s = std::max(round.archive_s, notice.archive_s);
    round.files.push_back(std::move(notice.files));
  }
  scheduling::merge_reports(round.reports, std::move(reports));
  scheduling::merge_reports(round.greedy, std::move(greedy));
  for (const auto& [rank, seconds] : generation_s) {
    if (seconds >= round.generation_s) {
      round.generation_s = seconds;
      round.slowest_rank = rank;
    }
    round.generation_mean_s += seconds / double(generation_s.size());
  }
  std::sort(round.files.begin(), round.files.end(),
            [](const auto& a, const auto& b) { return a.shard.path < b.shard.path; });
  std::sort(state_->unpacked.begin(), state_->unpacked.end(), by_step_and_path);
  for (const auto& report : round.reports) state_->rollouts_total += std::uint64_t(drawn(report));
  part_derived(round);
  warn_of_undecided(name, round.verdicts);
  return round;
}

}  // namespace rollcall::run
