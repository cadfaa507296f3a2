// The course of a run: warm start, steps, evaluations, checkpoints, stop. Rounds and evaluations
// are in coordinator_rounds.cpp.
#include "run/coordinator/coordinator.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/long_phase.hpp"
#include "base/random.hpp"
#include "base/stop_signals.hpp"
#include "io/checkpoint.hpp"
#include "method/columns.hpp"
#include "method/method.hpp"
#include "model/support/huge_blocks.hpp"
#include "model/train/optimizer.hpp"
#include "run/context/numerics.hpp"
#include "run/context/self_judging.hpp"
#include "run/coordinator/kept_folder.hpp"
#include "run/coordinator/results.hpp"
#include "run/coordinator/step_plans.hpp"
#include "run/step/archived_steps.hpp"
#include "run/step/group_training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcall::run {
namespace {

constexpr double kStatusInterval_s = 1.0;  // status.json is for people: once a second is fresh
                                           // enough
constexpr double kNormMomentum = 0.9;  // running mean of the gradient norm behind the spike test

double mean_reward(const std::vector<GroupReport>& reports) {
  double sum = 0.0;
  std::size_t count = 0;
  for (const auto& group : reports) {
    for (const double reward : group.rewards) sum += reward, ++count;
  }
  return count == 0 ? 0.0 : sum / double(count);
}

/// Throughput and latency of the verifier; the counts are the step's, the times this start's.
void add_verdicts(report::MetricRow& row, const std::string& verifier, VerdictFacts verdicts,
                  double scoring_s) {
  auto& seconds = verdicts.seconds;
  row.values.emplace_back(fmt::format("scoring/{}/verdicts", verifier),
                          double(seconds.size() + verdicts.repeated));
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

void tell(const scheduling::LoadReport& report) {
  if (report.same_prompts) return;
  const std::string anew =
      report.restarted.empty()
          ? ""
          : fmt::format("; these pieces start afresh: {}", fmt::join(report.restarted, ", "));
  log_warning(
      "the training prompts have changed: the scheduler knows {} of them, {} are new, {} are gone{}",
      report.kept, report.fresh, report.gone, anew);
}

}  // namespace

Coordinator::Coordinator(RunContext& context, Mailbox& mail, NextMessage next,
                         std::vector<int> transfer_ranks, Resumed resumed)
    : context_(&context),
      mail_(&mail),
      next_(std::move(next)),
      transfer_ranks_(std::move(transfer_ranks)),
      state_(std::move(resumed.state)),
      scheduler_(make_scheduler(context)),
      objective_(method::make_objective(context.config.objective.recipe,
                                        context.config.objective.pieces,
                                        context.config.objective.knobs)),
      heard_(context.config, *objective_, context.sends_rollouts),
      passes_(std::uint64_t(context.config.run.seed), context.examples.size()),
      metrics_(std::in_place, context.run_dir, state_.metric_rows > 0 ? state_.metric_rows : -1),
      stop_(context.run_dir, context.config.run.wall_time_s),
      heldout_(heldout_digest(context)),
      checkpoint_(resumed.checkpoint ? resumed.checkpoint->name() : "") {
  // not of a branch with another one
  const bool has_scheduler = resumed.checkpoint && SchedulerFiles::are_in(*resumed.checkpoint);
  if (has_scheduler) tell(scheduler_files_.load(*scheduler_, *resumed.checkpoint));
  if (resumed.checkpoint) replace_archived(), missing_ = rollouts_missing(context.run_dir, state_);
  else state_.archive_digest = archive_digest(context.config);
  if (!state_.groups_drawn)
    state_.groups_drawn = state_.train_steps * context.config.train.prompts_per_step;
  if (context.config.train.rollouts > 0) archived_rollouts_ = archived_rollouts(context.config);
  state_.weights_hash = context.identity.weights_hash, state_.text_hash = text_fingerprint(context);
  state_.judge_digest = context.judge_digest, state_.numerics = context.numerics,
  state_.graders = context.graders;
  state_.mask_digest = context.mask.digest;
  state_.prompts_hash = context.prompts.hash, state_.examples_hash = context.examples_hash,
  state_.arithmetic = arithmetic_of(context.config.run.numerics);
  compare_anew();
  keep_earlier(), look_at_evaluations();
  // as earlier starts measured it
  if (state_.train_steps > 0) stop_.step_took(state_.seconds["step"] / double(state_.train_steps));
  if (const auto left = stop_.left_s())
    log_info(
        "the allocation ends in {:.0f} s: the run will stop in time, with room for a step and two checkpoints",
        *left);
  if (state_.metric_rows > 0) {
    for (const auto& row : report::read_metrics(context.run_dir)) recent_.add(row);
    diagnoses_ = report::diagnose(recent_, context.config);
  }
  const auto columns = objective_->columns();
  greedy_ =
      std::find(columns.begin(), columns.end(), method::column::greedy_reward) != columns.end();
}

void Coordinator::compare_anew() {
  const auto& wanted = context_->config.checkpoint.keep_best;
  if (state_.best_metric.empty() || state_.best_metric == wanted) return;
  log_info(
      "checkpoint.keep_best was {} and is \"{}\" now: the best checkpoint is chosen among the steps from here on",
      state_.best_metric, wanted);
  state_.best_value.reset(), state_.best_metric.clear(), state_.best_checkpoint.clear();
}

comm::Envelope Coordinator::await_envelope(Tag tag, const std::string& waiting_for) {
  for (;;) {
    auto envelope = next_(waiting_for);
    if (Tag(envelope.tag) == Tag::saved) on_saved(from_bytes<SaveReport>(envelope.bytes));
    if (Tag(envelope.tag) == tag) return envelope;
    if (Tag(envelope.tag) == Tag::saved) continue;
    require<ProtocolError>(Tag(envelope.tag) == Tag::stop,
                           fmt::format("message {} from rank {} while waiting for {}", envelope.tag,
                                       envelope.source, waiting_for),
                           "the stages disagree about the step", "resume from the last checkpoint");
    stop_.remember_signal(from_bytes<std::string>(envelope.bytes));
  }
}

ExitCode Coordinator::train() try {
  const auto& config = context_->config;
  if (!warm_start()) return ExitCode::requeue;
  if (state_.after && progress() < 1.0) {  // it goes on behind an end; what the end of the warm
                                           // start measured is where training begins
    if (config.eval.before && state_.train_steps == 0 && !state_.before)
      state_.before = std::move(state_.after), state_.before_prompts = state_.after_prompts;
    state_.after.reset();
  }
  if (config.eval.before && config.train.steps > 0 && state_.train_steps == 0 &&
      !is_current(state_.before, state_.before_prompts)) {
    write_status("eval before training", true);
    if (!measure(state_.before, state_.before_prompts)) return stopped_early();
  }
  if (!train_steps()) return ExitCode::requeue;
  if (config.eval.after && !is_current(state_.after, state_.after_prompts)) {
    write_status("eval after training", true);
    if (!measure(state_.after, state_.after_prompts)) return stopped_early();
    begin_save(fmt::format("done_{:06}", state_.train_steps));
  }
  finish_save();
  end_on_stop_signals(
      fmt::format(
          "all is computed and saved, but for archive and result; rollcall train --resume {} makes them",
          (context_->run_dir / "config.toml").string()),
      Ends::on_last_call);
  pack(state_.unpacked);
  if (policy_sha256_.empty()) policy_sha256_ = context_->store->sha256();
  const LongPhase phase("hashing the archive and writing the report");
  model::huge_blocks().release_idle();  // no step follows, and the archive is read into memory of
                                        // another kind
  leave_out_old_evaluations();
  context_->lock->require_own();
  // an evaluation that was gone may have been made again
  if (missing_ > 0) missing_ = std::min(missing_, rollouts_missing(context_->run_dir, state_));
  require_kept_rollouts(context_->run_dir, state_, missing_);
  write_results(*context_, state_, tally_, policy_sha256_, checkpoint_, missing_);
  write_status("done", true);
  return ExitCode::done;
} catch (const StepIsCut&) {
  return give_up_step();
} catch (...) {
  progress_.reset();  // what is said next has a line of its own
  throw;
}

bool Coordinator::warm_start() {
  if (state_.train_steps > 0 || state_.sft_steps >= context_->config.sft.steps)
    return !stop_wanted();
  progress_.emplace("sft", state_.sft_steps, context_->config.sft.steps);
  while (state_.sft_steps < context_->config.sft.steps) {
    if (stop_wanted()) return false;
    begin_step();
    supervised_step();
    stepped_ = true;
    const bool last = state_.sft_steps == context_->config.sft.steps;
    if (last) state_.grad_norm_mean = 0.0;  // norms of another loss say nothing of the next phase
    notice_saved();
    if (last || state_.sft_steps % context_->config.checkpoint.every == 0)
      begin_save(fmt::format("sft_{:06}", state_.sft_steps));
    stop_.step_took(begun_.clock.seconds());
  }
  progress_.reset();
  stop_.begin_phase();
  send_weights();
  return true;
}

void Coordinator::supervised_step() {
  const auto& config = context_->config.sft;
  const watch::WorkingTime clock;
  SupervisePlan plan{
      std::uint64_t(state_.sft_steps) + 1,
      model::learning_rate(config.optimizer, state_.sft_steps + 1, double(config.steps)),
      grad_norm_limit(),
      {}};
  const std::uint64_t first = (plan.step - 1) * std::uint64_t(config.batch_size);
  for (std::int64_t i = 0; i < config.batch_size; ++i)
    plan.prompts.push_back({passes_.at(first + std::uint64_t(i))});
  plan.times = stop_.times(begun_.clock.seconds());
  mail_->send_led(context_->layout.of(comm::Stage::update), Tag::supervise, plan,
                  [](SupervisePlan& p) { p.prompts.clear(); });
  const auto report =
      await<UpdateReport>(Tag::updated, fmt::format("the update of supervised step {}", plan.step));
  if (report.outcome == UpdateOutcome::cut) throw StepIsCut{};
  state_.policy_version = report.version;
  check_update(report, fmt::format("supervised step {}", plan.step));
  ++state_.sft_steps;
  const double took = clock.seconds();
  state_.seconds["sft"] += took;
  report::MetricRow row{"sft", plan.step, {report.metrics.begin(), report.metrics.end()}};
  row.values.emplace_back("timing_s/checkpoint", saving_s_);
  row.values.emplace_back("timing_s/step", took + saving_s_);
  state_.seconds["checkpoint"] += std::exchange(saving_s_, 0.0);
  metrics_->write(row);
  write_status("sft", false);
  const auto loss = report.metrics.find("sft/loss");
  progress_->update(state_.sft_steps,
                    {{"loss", loss == report.metrics.end() ? NAN : loss->second}});
}

bool Coordinator::train_steps() {
  const auto& config = context_->config;
  if (progress() < 1.0) progress_.emplace("train", state_.train_steps, config.train.steps);
  while (progress() < 1.0) {
    if (stop_wanted()) return false;
    begin_step();
    train_step();
    stepped_ = true;
    notice_saved();
    pack_when_due();
    const bool due = progress() >= 1.0 || state_.train_steps % config.checkpoint.every == 0 ||
                     is_kept(state_.train_steps);
    if (due && state_.bad_steps == 0) note_best(*latest_row_);  // a bad step measures nothing
    const bool best =
        config.eval.every > 0 && state_.train_steps % config.eval.every == 0 && validate();
    if (due || best) begin_save(fmt::format("train_{:06}", state_.train_steps));
    stop_.step_took(begun_.clock.seconds());  // with its validation, its pack and its wait for a
                                              // checkpoint
  }
  progress_.reset();
  return true;
}

double Coordinator::progress() const {
  const auto& config = context_->config.train;
  const double steps = config.steps > 0 ? double(state_.train_steps) / double(config.steps) : 1.0;
  return config.rollouts == 0 ? steps
                              : std::max(steps, double(rollouts_up_to(state_.train_steps)) /
                                                    double(config.rollouts));
}

std::int64_t Coordinator::rollouts_up_to(std::int64_t steps) const {
  std::int64_t rollouts = 0;
  if (context_->config.train.from_archive.empty()) {
    for (const auto& [level, count] : state_.rollouts_per_level) rollouts += count;
  } else {
    for (std::int64_t step = 0; step < steps; ++step)
      rollouts += archived_rollouts_[std::size_t(step) % archived_rollouts_.size()];
  }
  return rollouts;
}

double Coordinator::expected_steps(std::int64_t step) const {
  const auto& config = context_->config.train;
  if (config.rollouts == 0) return double(config.steps);
  return std::min(double(config.steps),
                  double(step) * double(config.rollouts) /
                      double(std::max<std::int64_t>(rollouts_up_to(step), 1)));
}

void Coordinator::train_step() {
  const auto& config = context_->config;
  const watch::WorkingTime clock;
  const std::uint64_t step = std::uint64_t(state_.train_steps) + 1;
  const std::int64_t of_task =
      config.train.prompts_per_step - std::int64_t(state_.judge_tasks.size());
  const scheduling::StepRequest request{step,
                                        of_task,
                                        of_task * config.train.rollouts_per_prompt,
                                        config.scheduler.min_rollouts,
                                        config.scheduler.max_rollouts,
                                        progress()};
  double scheduling_s = 0.0;
  const bool sampling = config.train.from_archive.empty();
  Round round = sampling ? run_rounds(step, request, scheduling_s) : Round{};
  const UpdateReport report = update(request, round);
  const Stopwatch learning;
  fill_reports(round.reports, report.groups);
  if (sampling) scheduler_->end_step(round.reports);
  scheduling_s += learning.seconds();
  const Stopwatch sending;
  send_weights();
  const double weights_s = sending.seconds();
  check_update(report, fmt::format("step {}", step));
  ++state_.train_steps;
  const auto asked = std::exchange(state_.judge_tasks, {});
  if (sampling && config.self_judging.share > 0.0)
    state_.judge_tasks = make_judge_tasks(*context_, step + 1, merged(std::move(round.specimens)));

  report::MetricRow row{"train", step, {report.metrics.begin(), report.metrics.end()}};
  for (const auto& metric : scheduler_->metrics()) row.values.push_back(metric);
  if (const auto prompts = context_->prompts.of(Split::train).size(); sampling && prompts > 0)
    row.values.emplace_back("train/epoch", double(*state_.groups_drawn) / double(prompts));
  for (const auto& metric : judging_metrics(asked, round.judge_tasks)) row.values.push_back(metric);
  if (greedy_) {
    row.values.emplace_back("greedy/rollouts", double(round.greedy.size()));
    row.values.emplace_back("greedy/reward_mean", mean_reward(round.greedy));
  }
  const double took = clock.seconds(), waited = saving_s_ + packing_s_,
               archive_s = round.archive_s + report.archive_s + packing_s_;
  const double known =
      round.generation_s + round.scoring_s + report.update_s + scheduling_s + archive_s + weights_s;
  const std::vector<std::pair<std::string, double>> times{
      {"generation", round.generation_s},
      {"scoring", round.scoring_s},
      {"update", report.update_s},
      {"scheduling", scheduling_s},
      {"archive", archive_s},
      {"weights", weights_s},
      {"exchange", std::max(0.0, took + packing_s_ - known)},
      {"checkpoint", saving_s_}};
  for (const auto& [name, seconds] : times) {
    row.values.emplace_back("timing_s/" + name, seconds);
    state_.seconds[name] += seconds;
  }
  row.values.emplace_back("timing_s/step", took + waited);
  if (sampling) add_verdicts(row, context_->grader->name(), round.verdicts, round.scoring_s);
  row.values.emplace_back("timing_s/update_compute_mean", report.compute_mean_s);
  row.values.emplace_back("timing_s/update_compute_max", report.compute_max_s);
  if (sampling) {
    row.values.emplace_back("timing_s/generation_mean", round.generation_mean_s);
    row.values.emplace_back("perf/slowest_rank", double(round.slowest_rank));
  }
  state_.seconds["step"] += took + waited;
  saving_s_ = packing_s_ = 0.0;
  metrics_->write(row);
  latest_row_ = row;
  diagnose(row);
  write_status("train", false);
  const auto reward = report.metrics.find("critic/score/mean");
  progress_->update(
      state_.train_steps,
      {{"reward", reward == report.metrics.end() ? NAN : reward->second}, {"step_s", took}});
}

void Coordinator::diagnose(const report::MetricRow& row) {
  recent_.add(row);
  diagnoses_ = report::diagnose(recent_, context_->config);
  for (const auto& diagnosis : diagnosis_log_.due(row.step, diagnoses_))
    log_warning("step {}: {}", row.step, diagnosis.text());
}

UpdateReport Coordinator::update(const scheduling::StepRequest& request, Round& round) {
  const std::uint64_t step = request.step;
  const double steps = expected_steps(std::int64_t(step));
  const double lr =
      model::learning_rate(context_->config.train.optimizer, std::int64_t(step), steps);
  const UpdatePlan head{step,
                        lr,
                        grad_norm_limit(),
                        request.progress,
                        steps,
                        {},
                        {},
                        {},
                        stop_.times(begun_.clock.seconds())};
  send_update(*mail_, context_->layout.of(comm::Stage::update), head, std::move(round.files),
              std::move(round.training.groups));
  const auto report = await<UpdateReport>(Tag::updated, fmt::format("the update of step {}", step));
  if (report.outcome == UpdateOutcome::cut) throw StepIsCut{};
  state_.policy_version = report.version;
  for (auto& file : state_.unpacked) {
    for (auto* part : {&file.files.shard, &file.files.scores}) {
      const auto stored =
          std::lower_bound(report.stored.begin(), report.stored.end(), *part,
                           [](const auto& a, const auto& b) { return a.path < b.path; });
      if (stored != report.stored.end() && stored->path == part->path) *part = *stored;
      expect(part->bytes > 0 || file.files.cached_on_rank < 0,
             "a keeper has stored its files by the end of the step");
    }
  }
  for (const auto& stored : report.stored)
    if (UnpackedFile file{Purpose::train, step, {stored, stored}}; is_training(file))
      state_.unpacked.push_back(std::move(file));
  std::sort(state_.unpacked.begin(), state_.unpacked.end(), by_step_and_path);
  return report;
}

void Coordinator::send_weights() {
  mail_->send_all(transfer_ranks_, Tag::weights, state_.policy_version);
  // Rank 0 takes part like any other; its own message waits in the local queue and is handled with
  // the next wait.
}

double Coordinator::grad_norm_limit() const {
  const double factor = context_->config.train.loss_spike_factor;
  return factor > 0 && state_.grad_norm_mean > 0 ? factor * state_.grad_norm_mean : 0.0;
}

void Coordinator::check_update(const UpdateReport& report, const std::string& step) {
  const auto& config = context_->config.train;
  if (report.outcome == UpdateOutcome::applied) {
    state_.bad_steps = 0;
    const double norm = report.gradient_norm;
    if (norm == 0.0) return;  // a step without a gradient says nothing of how large one is
    state_.grad_norm_mean = state_.grad_norm_mean == 0.0 ? norm
                                                         : kNormMomentum * state_.grad_norm_mean +
                                                               (1.0 - kNormMomentum) * norm;
    return;
  }
  ++state_.bad_steps;
  std::string what = report.outcome == UpdateOutcome::nonfinite ? "the gradient is not finite"
                                                                : "the gradient norm spiked";
  if (report.updates > 1)
    what += fmt::format(" at update {} of {}", report.applied + 1, report.updates);
  require<NumericsError>(
      config.on_nonfinite != "stop" && state_.bad_steps < config.max_bad_steps,
      fmt::format("{} in {} ({} bad steps in a row)", what, step, state_.bad_steps),
      "further training would ruin the policy",
      "lower train.lr, look at that step in the archive, or resume from an older checkpoint");
  finish_save();  // the newest, whenever it was written
  const bool back = config.on_nonfinite == "rollback" && !state_.rollback_to.empty();
  const std::string stays =
      report.applied == 0
          ? "step skipped"
          : fmt::format(
                "the rest of the step is skipped, and what was applied before it stays ({})",
                report.applied);
  log_warning("{} in {}: {}", what, step, back ? "rolling back" : stays);
  if (back) {
    mail_->send_all(context_->layout.of(comm::Stage::update), Tag::rollback, state_.rollback_to);
    state_.policy_version = await<UpdateReport>(Tag::updated, "the rollback").version;
    send_weights();
  }
}

void Coordinator::write_status(const std::string& phase, bool force) {
  if (!force && since_status_.seconds() < kStatusInterval_s) return;
  since_status_.restart();
  write_status_file(*context_, state_, diagnoses_, tally_, phase);
}

}  // namespace rollcall::run
