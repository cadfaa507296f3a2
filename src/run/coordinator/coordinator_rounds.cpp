// Rounds of plan -> shards -> scores over the generation ranks, and the archive they end in.
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/long_phase.hpp"
#include "core/judge_task.hpp"
#include "io/archive.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/step_plans.hpp"
#include "run/step/undecided.hpp"
#include "scheduling/composed.hpp"
#include "sizing/aggregators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace rollcall::run {

Coordinator::Round Coordinator::run_round(std::vector<StepPlan> plans) {
  const Purpose purpose = plans.front().purpose;
  const std::uint64_t step = plans.front().step;
  const std::string name = fmt::format("{} step {}", purpose_name(purpose), step);
  const std::string whole = fmt::format("{} round {}", name, plans.front().round);
  const StepTimes times =
      purpose == Purpose::eval ? StepTimes{} : stop_.times(begun_.clock.seconds());
  const bool aggregated = sizing::aggregates(context_->config, context_->layout);
  std::size_t expected = 0;  // files, and a notice of each
  for (StepPlan& plan : plans) {
    const bool together = aggregated && is_trained_on(plan.purpose);
    expected += send_round(*mail_, context_->layout, std::move(plan), times, together);
  }
  Round round;
  std::vector<GroupReport> reports, greedy;
  std::map<std::uint32_t, double> generation_s;  // by rank
  for (std::size_t i = 0; i < expected; ++i) {
    auto notice = await<ScoredNotice>(
        Tag::scored, fmt::format("{} of {} scored shards of {}", expected - i, expected, whole));
    // a rank may generate for two plans
    for (const auto& [rank, seconds] : notice.generation_s) generation_s[rank] += seconds;
    if (notice.files.shard.path.empty()) {
      round.cut_short = true;
      continue;
    }
    auto& of_purpose = notice.report.purpose == Purpose::greedy ? greedy : reports;
    std::move(notice.report.groups.begin(), notice.report.groups.end(),
              std::back_inserter(of_purpose));
    state_.unpacked.push_back({notice.report.purpose, step, notice.files});
    round.scoring_s = std::max(round.scoring_s, notice.scoring_s);
    add(round.verdicts, notice.verdicts);
    add(tally_, notice.verdicts);
    heard_.add(notice.rollouts);
    std::move(notice.specimens.begin(), notice.specimens.end(),
              std::back_inserter(round.specimens));
    round.archive_s = std::max(round.archive_s, notice.archive_s);
    round.files.push_back(std::move(notice.files));
  }
  scheduling::merge_reports(round.reports, std::move(reports));
  scheduling::merge_reports(round.greedy, std::move(greedy));
  for (const auto& [rank, seconds] : generation_s) {
    if (seconds >= round.generation_s) round.generation_s = seconds, round.slowest_rank = rank;
    round.generation_mean_s += seconds / double(generation_s.size());
  }
  std::sort(round.files.begin(), round.files.end(),
            [](const auto& a, const auto& b) { return a.shard.path < b.shard.path; });
  std::sort(state_.unpacked.begin(), state_.unpacked.end(), by_step_and_path);
  for (const auto& report : round.reports) state_.rollouts_total += std::uint64_t(drawn(report));
  const auto of_tasks = std::stable_partition(
      round.reports.begin(), round.reports.end(),
      [](const GroupReport& report) { return !is_judge_task(report.id.prompt); });
  round.judge_tasks.assign(std::move_iterator(of_tasks), std::move_iterator(round.reports.end()));
  round.reports.erase(of_tasks, round.reports.end());
  if (const auto& v = round.verdicts; v.undecided > 0)
    log_warning(
        "{}: {} of {} verdicts are undecided, on {} answers the judging itself ended (too long, or it died twice), {} are repeated from before the stop; the first: {}{}",
        name, v.undecided, v.seconds.size() + v.repeated, v.ended, v.repeated, v.reason,
        v.slowest.empty() ? ""
                          : fmt::format("; the slowest: {} ({:.1f} s)", v.slowest.front().sample,
                                        v.slowest.front().seconds));
  return round;
}

StepPlan Coordinator::greedy_plan(const StepPlan& round, std::set<PromptId>& answered) const {
  StepPlan plan{Purpose::greedy, round.split,    round.step, round.round,
                round.policy,    round.sampling, {},         round.judge_tasks};
  plan.sampling.temperature = 0.0;
  for (const auto& group : round.groups) {
    if (greedy_ && answered.insert(group.id.prompt).second)
      plan.groups.push_back({{round.step, group.id.prompt, 0}, group.level, 0, 1});
  }
  return plan;
}

void Coordinator::ask_judge_tasks(StepPlan& plan) const {
  plan.judge_tasks = state_.judge_tasks;
  for (const Prompt& task : plan.judge_tasks)
    plan.groups.push_back({{plan.step, task.id, 0},
                           task.level,
                           0,
                           std::uint32_t(context_->config.train.rollouts_per_prompt)});
}

Coordinator::Round Coordinator::run_rounds(std::uint64_t step,
                                           const scheduling::StepRequest& request,
                                           double& scheduling_s) {
  const auto lowest_of = [](const Round& rounds) {
    return lowest_reward(
        std::array{&std::as_const(rounds.reports), &std::as_const(rounds.judge_tasks)});
  };
  Round all;
  heard_.begin(step, request.progress);
  Stopwatch deciding;
  scheduling::Decision decision = scheduler_->begin_step(request);
  std::set<PromptId> answered;
  for (std::uint32_t number = 0;; ++number) {
    for (auto& group : decision.groups) group.bin = scheduler_->bin(group.id.prompt);
    scheduling_s += deciding.seconds();
    StepPlan plan{Purpose::train,
                  Split::train,
                  step,
                  number,
                  PolicyVersion{state_.policy_version},
                  context_->config.sampling,
                  std::move(decision.groups)};
    if (number == 0) ask_judge_tasks(plan);
    StepPlan greedy = greedy_plan(plan, answered);
    std::vector<StepPlan> plans;
    plans.push_back(std::move(plan));
    plans.push_back(std::move(greedy));
    Round round = run_round(std::move(plans));
    if (round.cut_short) throw StepIsCut{};
    deciding.restart();
    add(all.verdicts, round.verdicts);
    scheduling::merge_reports(all.reports, round.reports);
    scheduling::merge_reports(all.greedy, std::move(round.greedy));
    std::move(round.files.begin(), round.files.end(), std::back_inserter(all.files));
    std::move(round.judge_tasks.begin(), round.judge_tasks.end(),
              std::back_inserter(all.judge_tasks));
    std::move(round.specimens.begin(), round.specimens.end(), std::back_inserter(all.specimens));
    all.generation_s += round.generation_s, all.generation_mean_s += round.generation_mean_s,
        all.slowest_rank = round.slowest_rank, all.scoring_s += round.scoring_s,
        all.archive_s += round.archive_s;
    if (decision.last_round) break;
    std::vector<GroupReport> so_far = all.reports;
    // of the rounds so far
    for (auto* reports : {&round.reports, &so_far}) settle_rewards(*reports, lowest_of(all));
    decision = heard_.next_round(*scheduler_, request, std::move(round.reports), std::move(so_far),
                                 all.greedy);
  }
  const double lowest = lowest_of(all);
  for (auto* reports : {&all.reports, &all.judge_tasks, &all.greedy})
    settle_rewards(*reports, lowest);
  std::vector<GroupReport> judge_tasks = all.judge_tasks;  // theirs go to the metrics as they are
  heard_.rewrite({&all.reports, &judge_tasks}, all.greedy);
  all.training = scheduler_->settle(request, all.reports);
  for (const auto* reports : {&all.reports, &all.judge_tasks})
    for (const auto& report : *reports)
      state_.rollouts_per_level[report.level] += drawn(report), ++*state_.groups_drawn;
  scheduling_s += deciding.seconds();
  return all;
}

void Coordinator::forget_archived() {
  // A stop between packing and the next checkpoint, or a fall back to an older checkpoint, leaves
  // steps in the state that the archive holds already. A step drawn again has the same content, so
  // the archive's copy stands and the other is set aside.
  replace_archived();
  const auto entries = io::read_manifest(context_->run_dir);
  if (std::erase_if(state_.unpacked, [&](const UnpackedFile& file) {
        return io::any_holds(entries, file.purpose, file.step);
      }) > 0) {
    std::vector<io::PublishedFile> keep;
    for (const auto& file : state_.unpacked)
      keep.push_back(file.files.shard), keep.push_back(file.files.scores);
    if (const int moved = io::set_aside_unfinished(context_->run_dir, keep))
      log_info("set aside {} files of steps that the archive holds", moved);
  }
}

void Coordinator::pack(std::vector<UnpackedFile> files) {
  const Stopwatch clock;
  forget_archived();
  std::set<std::string> waiting;
  for (const UnpackedFile& file : state_.unpacked) waiting.insert(file.files.shard.path);
  std::erase_if(files,
                [&](const UnpackedFile& file) { return !waiting.contains(file.files.shard.path); });
  for (const PackRequest& request :
       pack_requests(std::move(files), io::read_manifest(context_->run_dir))) {
    std::optional<LongPhase> phase;  // where no bar shows that the run goes on
    if (!progress_)
      phase.emplace(fmt::format("packing {} shards into archive file {}", request.files.size(),
                                request.name));
    mail_->send_led(context_->layout.of(comm::Stage::scoring), Tag::pack, request,
                    [](PackRequest& r) { r.files.clear(); });
    await<PackReport>(Tag::packed, "the archive file " + request.name);
    io::await_packed(context_->run_dir, request.name);
    std::set<std::string> packed;
    for (const ScoredFile& file : request.files) packed.insert(file.shard.path);
    std::erase_if(state_.unpacked,
                  [&](const UnpackedFile& file) { return packed.contains(file.files.shard.path); });
  }
  state_.packed_steps = std::max(state_.packed_steps, covered_steps_);
  packing_s_ += clock.seconds();
}

}  // namespace rollcall::run
