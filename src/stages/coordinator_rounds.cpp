// Rounds of plan -> shards -> scores over the generation ranks, and the archive they end in.
#include "base/error.hpp"
#include "base/log.hpp"
#include "core/judge_task.hpp"
#include "io/archive.hpp"
#include "scheduling/composed.hpp"
#include "stages/coordinator.hpp"
#include "stages/self_judging.hpp"
#include "stages/shard_aggregation.hpp"
#include "stages/undecided.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace rollcall::stages {
namespace {

std::int64_t rollouts_of(const std::vector<GroupPlan>& groups) {
  return std::accumulate(groups.begin(), groups.end(), std::int64_t{0}, [](std::int64_t sum, const GroupPlan& group) { return sum + group.count; });
}

}  // namespace

std::vector<std::vector<GroupPlan>> deal(const std::vector<GroupPlan>& groups, std::size_t ranks) {
  std::uint64_t total = 0, before = 0;
  for (const auto& group : groups) total += group.count;
  std::vector<std::vector<GroupPlan>> shares(ranks);
  for (const auto& group : groups) {
    shares[std::min<std::size_t>(ranks - 1, before * ranks / std::max<std::uint64_t>(total, 1))].push_back(group);
    before += group.count;
  }
  return shares;
}

Coordinator::Round Coordinator::play(const std::vector<StepPlan>& plans) {
  const auto& generators = job_->layout.of(comm::Stage::generation);
  const StepTimes times = plans.front().purpose == Purpose::eval ? StepTimes{} : stop_.times(begun_.clock.seconds());
  std::size_t expected = 0;
  for (const auto& plan : plans) {
    const auto shares = deal(plan.groups, generators.size());
    std::vector<int> ranks;  // with a share
    for (std::size_t i = 0; i < shares.size(); ++i)
      if (!shares[i].empty()) ranks.push_back(generators[i]);
    const auto largest = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return rollouts_of(a) < rollouts_of(b); });
    const bool fits = rollouts_of(*largest) * std::int64_t(kMostAggregated) * job_->config.sampling.max_new_tokens <= kMostAggregatedTokens;
    const auto storing = fits && is_trained_on(plan.purpose) && aggregates(job_->config, job_->layout) ? aggregators(job_->layout, ranks) : ranks;
    std::map<int, std::uint32_t> stored;  // shards, by who stores them
    for (const int rank : storing) ++stored[rank];
    std::size_t at = 0;
    for (const auto& groups : shares) {
      if (groups.empty()) continue;
      RoundPlan share{plan, times};
      share.groups = groups;
      share.judge_tasks = asked_by(share.groups, plan.judge_tasks);
      share.aggregator = storing[at], share.aggregated = stored[storing[at]];
      expected += ranks[at] == storing[at] ? 1 : 0;  // a file and a notice each
      mail_->send(ranks[at++], Tag::plan, share);
    }
  }
  const StepPlan& plan = plans.front();
  Round round;
  std::map<std::uint32_t, double> generation_s;  // by rank
  for (std::size_t i = 0; i < expected; ++i) {
    auto notice = await<ScoredNotice>(
        Tag::scored, fmt::format("{} of {} scored shards of {} step {} round {}", expected - i, expected, purpose_name(plan.purpose), plan.step, plan.round));
    for (const auto& [rank, seconds] : notice.generation_s) generation_s[rank] += seconds;  // a rank may generate for two plans
    if (notice.files.shard.path.empty()) {
      round.cut_short = true;
      continue;
    }
    const bool greedy = notice.report.purpose == Purpose::greedy;
    scheduling::merge_reports(greedy ? round.greedy : round.reports, notice.report.groups);
    state_.unpacked.push_back({notice.report.purpose, plan.step, notice.files});
    round.scoring_s = std::max(round.scoring_s, notice.scoring_s);
    add(round.verdicts, notice.verdicts);
    add(tally_, notice.verdicts);
    heard_.add(notice.rollouts);
    std::move(notice.specimens.begin(), notice.specimens.end(), std::back_inserter(round.specimens));
    round.archive_s = std::max(round.archive_s, notice.archive_s);
    round.files.push_back(std::move(notice.files));
  }
  for (const auto& [rank, seconds] : generation_s) {
    if (seconds >= round.generation_s) round.generation_s = seconds, round.slowest_rank = rank;
    round.generation_mean_s += seconds / double(generation_s.size());
  }
  std::sort(round.files.begin(), round.files.end(), [](const auto& a, const auto& b) { return a.shard.path < b.shard.path; });
  std::sort(state_.unpacked.begin(), state_.unpacked.end(), by_step_and_path);
  for (const auto& report : round.reports) state_.rollouts_total += std::uint64_t(drawn(report));
  const auto of_tasks =
      std::stable_partition(round.reports.begin(), round.reports.end(), [](const GroupReport& report) { return !is_judge_task(report.id.prompt); });
  round.judge_tasks.assign(std::move_iterator(of_tasks), std::move_iterator(round.reports.end()));
  round.reports.erase(of_tasks, round.reports.end());
  if (const auto& v = round.verdicts; v.undecided > 0)
    log_warning("{} step {}: {} of {} verdicts are undecided, on {} answers the judging itself ended (too long, or it died twice), {} are repeated from before the stop; the first: {}{}",
                purpose_name(plan.purpose), plan.step, v.undecided, v.seconds.size() + v.repeated, v.ended, v.repeated, v.reason,
                v.slowest.empty() ? "" : fmt::format("; the slowest: {} ({:.1f} s)", v.slowest.front().sample, v.slowest.front().seconds));
  return round;
}

StepPlan Coordinator::greedy_plan(const StepPlan& round, std::set<PromptId>& answered) const {
  StepPlan plan{Purpose::greedy, round.split, round.step, round.round, round.policy, round.sampling, {}, round.judge_tasks};
  plan.sampling.temperature = 0.0;
  for (const auto& group : round.groups) {
    if (greedy_ && answered.insert(group.id.prompt).second) plan.groups.push_back({{round.step, group.id.prompt, 0}, group.level, 0, 1});
  }
  return plan;
}

void Coordinator::ask_judge_tasks(StepPlan& plan) const {
  plan.judge_tasks = state_.judge_tasks;
  for (const Prompt& task : plan.judge_tasks)
    plan.groups.push_back({{plan.step, task.id, 0}, task.level, 0, std::uint32_t(job_->config.train.rollouts_per_prompt)});
}

Coordinator::Round Coordinator::play_step(std::uint64_t step, const scheduling::StepRequest& request, double& scheduling_s) {
  const auto lowest_of = [](const Round& rounds) { return lowest_reward(std::array{&std::as_const(rounds.reports), &std::as_const(rounds.judge_tasks)}); };
  Round all;
  heard_.begin(step, request.progress);
  Stopwatch deciding;
  scheduling::Decision decision = scheduler_->begin_step(request);
  std::set<PromptId> answered;
  for (std::uint32_t number = 0;; ++number) {
    for (auto& group : decision.groups) group.bin = scheduler_->bin(group.id.prompt);
    scheduling_s += deciding.seconds();
    StepPlan plan{Purpose::train, Split::train, step, number, PolicyVersion{state_.policy_version}, job_->config.sampling, decision.groups};
    if (number == 0) ask_judge_tasks(plan);
    Round round = play({plan, greedy_plan(plan, answered)});
    if (round.cut_short) throw StepIsCut{};
    deciding.restart();
    add(all.verdicts, round.verdicts);
    scheduling::merge_reports(all.reports, round.reports), scheduling::merge_reports(all.greedy, round.greedy);
    std::move(round.files.begin(), round.files.end(), std::back_inserter(all.files));
    std::move(round.judge_tasks.begin(), round.judge_tasks.end(), std::back_inserter(all.judge_tasks));
    std::move(round.specimens.begin(), round.specimens.end(), std::back_inserter(all.specimens));
    all.generation_s += round.generation_s, all.generation_mean_s += round.generation_mean_s,
        all.slowest_rank = round.slowest_rank, all.scoring_s += round.scoring_s, all.archive_s += round.archive_s;
    if (decision.last_round) break;
    settle_rewards(round.reports, lowest_of(all));  // of the rounds so far
    heard_.rewrite({&round.reports}, all.greedy);
    decision = scheduler_->next_round(request, round.reports);
  }
  const double lowest = lowest_of(all);
  for (auto* reports : {&all.reports, &all.judge_tasks, &all.greedy}) settle_rewards(*reports, lowest);
  std::vector<GroupReport> judge_tasks = all.judge_tasks;  // theirs go to the metrics as they are
  heard_.rewrite({&all.reports, &judge_tasks}, all.greedy);
  all.training = scheduler_->settle(request, all.reports);
  for (const auto* reports : {&all.reports, &all.judge_tasks})
    for (const auto& report : *reports) state_.rollouts_per_level[report.level] += drawn(report), ++*state_.groups_drawn;
  scheduling_s += deciding.seconds();
  return all;
}

void Coordinator::forget_archived() {
  // A stop between packing and the next checkpoint, or a fall back to an older checkpoint, leaves steps in the state that the archive holds already.
  // A step drawn again has the same content, so the archive's copy stands and the other is set aside.
  replace_archived();
  const auto entries = io::read_manifest(job_->run_dir);
  if (std::erase_if(state_.unpacked, [&](const UnpackedFile& file) { return io::any_holds(entries, file.purpose, file.step); }) > 0) {
    std::vector<io::PublishedFile> keep;
    for (const auto& file : state_.unpacked) keep.push_back(file.files.shard), keep.push_back(file.files.scores);
    if (const int moved = io::set_aside_unfinished(job_->run_dir, keep)) log_info("set aside {} files of steps that the archive holds", moved);
  }
}

void Coordinator::pack(std::vector<UnpackedFile> files) {
  const Stopwatch clock;
  forget_archived();
  const auto waits = [&](const UnpackedFile& file) {
    return std::any_of(state_.unpacked.begin(), state_.unpacked.end(),
                       [&](const UnpackedFile& other) { return other.files.shard.path == file.files.shard.path; });
  };
  std::erase_if(files, [&](const UnpackedFile& file) { return !waits(file); });
  for (const PackRequest& request : pack_requests(std::move(files), io::read_manifest(job_->run_dir))) {
    mail_->send_all(job_->layout.of(comm::Stage::scoring), Tag::pack, request);
    await<PackReport>(Tag::packed, "the archive file " + request.name);
    io::await_packed(job_->run_dir, request.name);
    std::erase_if(state_.unpacked, [&](const UnpackedFile& file) {
      return std::any_of(request.files.begin(), request.files.end(), [&](const ScoredFile& packed) { return packed.shard.path == file.files.shard.path; });
    });
  }
  state_.packed_steps = std::max(state_.packed_steps, covered_steps_);
  packing_s_ += clock.seconds();
}

}  // namespace rollcall::stages
