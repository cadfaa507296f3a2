// Carries out a step and makes its row of metrics.
#include "run/coordinator/steps/steps.hpp"

#include "base/errors/log.hpp"
#include "base/time/clock.hpp"
#include "model/train/optimizer.hpp"
#include "run/context/derived/self_judging.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/steps/histories.hpp"
#include "run/step/group_training.hpp"
#include "scheduling/composed.hpp"
#include "watch/watcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace rollcall::run {
namespace {

double mean_reward(const std::vector<GroupReport>& reports) {
  double sum = 0.0;
  std::size_t count = 0;
  for (const auto& group : reports) {
    for (const double reward : group.rewards) sum += reward;
    count += group.rewards.size();
  }
  return count == 0 ? 0.0 : sum / double(count);
}

/// A metric of the update's report for the bar of progress; NaN where the report has none.
double value_of(const UpdateReport& report, const std::string& name) {
  const auto found = report.metrics.find(name);
  return found == report.metrics.end() ? NAN : found->second;
}

/// Throughput and latency of the verifier and of the judge or reward model. Counts are taken over
/// all verdicts of the step, and times only over verdicts that were not taken from an earlier
/// start.
void add_verdicts(report::MetricRow& row, const std::string& verifier, VerdictFacts verdicts,
                  double scoring_s) {
  auto& seconds = verdicts.seconds;
  row.values.emplace_back(fmt::format("scoring/{}/verdicts", verifier), double(count_of(verdicts)));
  row.values.emplace_back(fmt::format("scoring/{}/undecided", verifier),
                          double(verdicts.undecided));
  for (const auto& [cause, count] : verdicts.causes)
    row.values.emplace_back(fmt::format("scoring/{}/undecided_{}", verifier, cause), double(count));
  row.values.emplace_back(fmt::format("scoring/{}/clock_ended", verifier), double(verdicts.ended));
  if (verdicts.judged > 0) {
    row.values.emplace_back("scoring/judge/asked", double(verdicts.judged));
    row.values.emplace_back("scoring/judge/undecided", double(verdicts.judged_undecided));
    row.values.emplace_back("perf/judge_known",
                            double(verdicts.judged_known) / double(verdicts.judged));
    row.values.emplace_back("perf/judge_judgements_per_s",
                            double(verdicts.judged) / std::max(verdicts.judging_s, 1e-9));
    row.values.emplace_back("timing_s/judge", verdicts.judging_s);
  }
  if (seconds.empty()) return;
  std::nth_element(seconds.begin(), seconds.begin() + std::ptrdiff_t(seconds.size() / 2),
                   seconds.end());
  row.values.emplace_back(fmt::format("timing_s/{}_median", verifier),
                          double(seconds[seconds.size() / 2]));
  row.values.emplace_back(fmt::format("timing_s/{}_max", verifier),
                          verdicts.slowest.front().seconds);
  row.values.emplace_back(fmt::format("perf/{}_verdicts_per_s", verifier),
                          double(seconds.size()) / std::max(scoring_s, 1e-9));
}

/// Adds the cost of talking with the environment. The figures of turns are counted over rollouts.
void add_figures(report::MetricRow& row, const DriverFigures& figures) {
  row.values.emplace_back("environment/lost", double(figures.lost));
  row.values.emplace_back("environment/restarted", double(figures.restarted));
  row.values.emplace_back("environment/forks_unmade", double(figures.forks_unmade));
  row.values.emplace_back(
      "perf/environment_answer_ms",
      1e3 * figures.answered_s / double(std::max<std::int64_t>(figures.turns, 1)));
  row.values.emplace_back("timing_s/environment_wait", figures.waited_s);
}

/// Warns of conversations that limits of tokens ended before or at an answer of the environment.
void tell_short_room(std::uint64_t step, const DriverFigures& figures,
                     const SamplingParams& sampling) {
  const bool has_own = sampling.turn_tokens > 0;
  if (step == 1 && figures.conversations > 0 && figures.unasked == figures.conversations)
    log_warning(
        "step 1 asked the environment nothing: {} ({}) cut the first turn of all {} conversations, "
        "and a turn that is cut is no action; raise it, or warm the policy up to end its turns "
        "(sft.steps)",
        has_own ? "sampling.turn_tokens" : "sampling.max_new_tokens",
        has_own ? sampling.turn_tokens : sampling.max_new_tokens, figures.conversations);
  if (figures.no_room > 0)
    log_warning(
        "step {}: {} of {} conversations ended at a text of the environment that left the policy "
        "no room (sampling.max_new_tokens, environment.max_tokens or the model's positions); they "
        "count as cut answers (turns/no_room_ratio)",
        step, figures.no_room, figures.conversations);
}

}  // namespace

Steps::Steps(const RunContext& context, const Parts& parts, Updates updates)
    : context_(&context),
      state_(&parts.state),
      scheduler_(&parts.scheduler),
      records_(&parts.records),
      checkpoints_(&parts.checkpoints),
      archive_(&parts.archive),
      updates_(std::move(updates)),
      rounds_(context, parts.state, parts.scheduler, parts.rounds),
      passes_(std::uint64_t(context.config.run.seed), context.texts.examples.size()),
      course_(context.config) {}

void Steps::supervise() {
  const auto& config = context_->config.sft;
  const watch::WorkingTime clock;
  SupervisePlan plan{
      std::uint64_t(state_->sft_steps) + 1,
      model::learning_rate(config.optimizer, state_->sft_steps + 1, double(config.steps)),
      0.0,
      {}};
  const std::uint64_t step = plan.step;
  const std::uint64_t first = (step - 1) * std::uint64_t(config.batch_size);
  for (std::int64_t i = 0; i < config.batch_size; ++i)
    plan.prompts.push_back({passes_.at(first + std::uint64_t(i))});
  const UpdateReport report = updates_.supervise(std::move(plan));
  updates_.check(report, fmt::format("supervised step {}", step));
  ++state_->sft_steps;
  const double took_s = clock.seconds(), saving_s = checkpoints_->take_waited_s();
  state_->seconds["sft"] += took_s;
  report::MetricRow row{"sft", step, {report.metrics.begin(), report.metrics.end()}};
  row.values.emplace_back("timing_s/checkpoint", saving_s);
  row.values.emplace_back("timing_s/step", took_s + saving_s);
  state_->seconds["checkpoint"] += saving_s;
  records_->write(row);
  records_->write_status("sft", false);
  records_->move_bar(state_->sft_steps, {{"loss", value_of(report, "sft/loss")}});
}

scheduling::StepRequest Steps::next_request() const {
  const auto& config = context_->config;
  const std::int64_t of_task = config.train.prompts_per_step - std::int64_t(state_->next.size());
  return {std::uint64_t(state_->train_steps) + 1,
          of_task,
          of_task * config.train.rollouts_per_prompt,
          config.scheduler.min_rollouts,
          config.scheduler.max_rollouts,
          course_.progress(*state_)};
}

/// Sends the step to the update ranks and returns their report. Moves the round's files and how its
/// groups train into the plan.
UpdateReport Steps::update(const scheduling::StepRequest& request, Round& round) {
  const double steps = course_.expected_steps(*state_, std::int64_t(request.step));
  const double lr =
      model::learning_rate(context_->config.train.optimizer, std::int64_t(request.step), steps);
  return updates_.update({request.step, lr, 0.0, request.progress, steps, {}},
                         std::move(round.files), std::move(round.training.groups));
}

/// Makes the prompts that `step` derives from the answers of the previous step: judge tasks, and
/// histories to continue. `asked`: the prompts that the previous step asked in this way.
void Steps::make_next(std::uint64_t step, const std::vector<DerivedPrompt>& asked, Round& round) {
  const RunConfig& config = context_->config;
  const std::int64_t positions = context_->models.policy.max_position_embeddings;
  const auto specimens = merged(std::move(round.specimens));
  if (config.self_judging.share > 0.0)
    state_->next = make_judge_tasks(config, context_->texts, positions, step, specimens);
  if (config.second_pass.buffer == 0.0) return;
  std::vector<GroupReport> reports = round.reports;
  scheduling::merge_reports(reports, round.derived);
  state_->histories =
      with_step(std::move(state_->histories), config, context_->texts, asked, specimens, reports);
  auto more = continuations(state_->histories, config, context_->texts, positions, step);
  std::move(more.begin(), more.end(), std::back_inserter(state_->next));
}

report::MetricRow Steps::train() {
  const watch::WorkingTime clock;
  const bool sampling = context_->config.train.from_archive.empty();
  const scheduling::StepRequest request = next_request();
  Round round = sampling ? rounds_.run(request) : Round{};
  const UpdateReport report = update(request, round);
  const Stopwatch learning;
  fill_reports(round.reports, report.groups);
  if (sampling) scheduler_->end_step(round.reports);
  round.scheduling_s += learning.seconds();
  const Stopwatch sending;
  updates_.send_weights();
  const double weights_s = sending.seconds();
  updates_.check(report, fmt::format("step {}", request.step));
  ++state_->train_steps;
  const auto asked = std::exchange(state_->next, {});
  if (sampling) make_next(request.step + 1, asked, round);
  const EnvironmentSection& talks = context_->config.environment;
  if (sampling && talks.start_depth == "success")
    state_->actions_left = actions_left_after(talks, state_->actions_left, round.reports);

  report::MetricRow row{"train", request.step, {report.metrics.begin(), report.metrics.end()}};
  add_choice(row, round, asked);
  const double took_s = clock.seconds();
  add_times(row, round, report, took_s, weights_s);
  if (sampling)
    add_verdicts(row, context_->grading.grader->name(), round.verdicts, round.scoring_s);
  if (sampling && context_->texts.turns) {
    add_figures(row, round.figures);
    tell_short_room(request.step, round.figures, context_->config.sampling);
  }
  row.values.emplace_back("timing_s/update_compute_mean", report.compute_mean_s);
  row.values.emplace_back("timing_s/update_compute_max", report.compute_max_s);
  if (sampling) {
    row.values.emplace_back("timing_s/generation_mean", round.generation_mean_s);
    row.values.emplace_back("perf/slowest_rank", double(round.slowest_rank));
  }
  records_->write(row);
  records_->diagnose(row);
  records_->write_status("train", false);
  records_->move_bar(state_->train_steps,
                     {{"reward", value_of(report, "critic/score/mean")}, {"step_s", took_s}});
  return row;
}

/// Adds to the row the metrics of the scheduler, of the step's greedy answers and of the derived
/// prompts that the previous step left (`asked`).
void Steps::add_choice(report::MetricRow& row, const Round& round,
                       const std::vector<DerivedPrompt>& asked) const {
  for (const auto& metric : scheduler_->metrics()) row.values.push_back(metric);
  const auto prompts = context_->texts.prompts.of(Split::train).size();
  if (context_->config.train.from_archive.empty() && prompts > 0)
    row.values.emplace_back("train/epoch", double(*state_->groups_drawn) / double(prompts));
  for (const auto& metric : judging_metrics(asked, round.derived)) row.values.push_back(metric);
  for (const auto& metric : round.second_pass) row.values.push_back(metric);
  if (rounds_.asks_greedy()) {
    row.values.emplace_back("greedy/rollouts", double(round.greedy.size()));
    row.values.emplace_back("greedy/reward_mean", mean_reward(round.greedy));
  }
}

/// Adds the step's seconds by stage to the row and to the sums in the state. `took_s`: seconds of
/// the whole step; `weights_s`: seconds of sending the weights.
void Steps::add_times(report::MetricRow& row, const Round& round, const UpdateReport& report,
                      double took_s, double weights_s) {
  const double saving_s = checkpoints_->take_waited_s(), packing_s = archive_->take_waited_s();
  const double waited_s = saving_s + packing_s;
  const double archive_s = round.archive_s + report.archive_s + packing_s;
  const double known_s = round.generation_s + round.scoring_s + report.update_s +
                         round.scheduling_s + archive_s + weights_s;
  const std::vector<std::pair<std::string, double>> times{
      {"generation", round.generation_s},
      {"scoring", round.scoring_s},
      {"update", report.update_s},
      {"scheduling", round.scheduling_s},
      {"archive", archive_s},
      {"weights", weights_s},
      {"exchange", std::max(0.0, took_s + packing_s - known_s)},
      {"checkpoint", saving_s}};
  for (const auto& [name, seconds] : times) {
    row.values.emplace_back("timing_s/" + name, seconds);
    state_->seconds[name] += seconds;
  }
  row.values.emplace_back("timing_s/step", took_s + waited_s);
  state_->seconds["step"] += took_s + waited_s;
}

}  // namespace rollcall::run
