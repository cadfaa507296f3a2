// Carries out the actions in sequence, until the run is done or is asked to stop.
#include "run/coordinator/coordinator.hpp"

#include "base/errors/log.hpp"
#include "base/errors/long_phase.hpp"
#include "base/process/stop_signals.hpp"
#include "model/support/huge_blocks.hpp"
#include "run/context/numerics.hpp"
#include "run/context/run_context.hpp"
#include "run/context/run_texts.hpp"
#include "run/coordinator/kept_checkpoints.hpp"
#include "run/coordinator/kept_folder.hpp"
#include "run/coordinator/make_scheduler.hpp"
#include "run/coordinator/results.hpp"
#include "run/step/archived_steps.hpp"
#include "run/workers/step_cut.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace rollcall::run {
namespace {

/// Warns if the scheduler's state belongs to prompts other than the current ones.
void warn_of_changed_prompts(const scheduling::LoadReport& report) {
  if (report.same_prompts) return;
  const std::string anew =
      report.restarted.empty()
          ? ""
          : fmt::format("; these pieces start afresh: {}", fmt::join(report.restarted, ", "));
  log_warning(
      "the training prompts have changed: the scheduler knows {} of them, {} are new, {} are gone{}",
      report.kept, report.fresh, report.gone, anew);
}

/// The command that continues the run in this folder.
std::string resume_command(const std::filesystem::path& run_dir) {
  return fmt::format("rollcall train --resume {}", (run_dir / "config.toml").string());
}

/// Writes hashes of the inputs and the machine of this start into the state.
void note_inputs(CoordinatorState& state, const RunContext& context) {
  state.weights_hash = context.identity.weights_hash;
  state.text_hash = text_fingerprint(context.texts);
  state.judge_digest = context.rank_zero.judge_digest;
  state.numerics = context.rank_zero.numerics;
  state.graders = context.rank_zero.graders;
  state.environment_files = context.rank_zero.environment;
  state.mask_digest = context.mask.digest;
  state.prompts_hash = context.texts.prompts.hash;
  state.examples_hash = context.texts.examples_hash;
  state.arithmetic = arithmetic_of(context.config.run.numerics);
}

}  // namespace

Coordinator::Coordinator(const RunContext& context, Mailbox& mail, NextMessage next,
                         std::vector<int> transfer_ranks, Resumed resumed)
    : context_(&context),
      state_(std::move(resumed.state)),
      scheduler_(make_scheduler(context.config, context.texts)),
      records_(context, state_),
      stop_(context.run_dir, context.config.run.wall_time_s),
      inbox_(std::move(next), stop_),
      step_(stop_),
      archive_(context, mail, inbox_, state_, records_),
      checkpoints_(context, mail, inbox_, state_, *scheduler_,
                   [this](Checkpoints::Durable durable) {
                     archive_.cover(std::move(durable.covered), durable.steps);
                     stop_.checkpoint_took(durable.seconds);
                   }),
      rounds_(context, mail, inbox_, state_, records_, step_),
      evaluations_(context, state_, rounds_, archive_, records_, stop_),
      steps_(
          context, {state_, *scheduler_, records_, checkpoints_, archive_, rounds_},
          Updates(context, mail, inbox_, state_, checkpoints_, step_, std::move(transfer_ranks))) {
  const auto& config = context.config;
  if (resumed.checkpoint) {
    if (const auto loaded = checkpoints_.resume(*resumed.checkpoint))
      warn_of_changed_prompts(*loaded);
    archive_.resume();
  } else {
    state_.archive_digest = archive_digest(config);
  }
  if (!state_.groups_drawn)  // an earlier build did not count them
    state_.groups_drawn = state_.train_steps * config.train.prompts_per_step;
  steps_.course().count_archived();
  note_inputs(state_, context);
  forget_other_best(state_, config.checkpoint);
  keep_earlier(state_, config, context.run_dir, checkpoints_.newest().name);
  evaluations_.look_at_earlier(progress());
  // Earlier starts have measured how long a step takes.
  if (state_.train_steps > 0) stop_.step_took(state_.seconds["step"] / double(state_.train_steps));
  if (const auto left = stop_.left_s())
    log_info(
        "the allocation ends in {:.0f} s: the run will stop in time, with room for a step and two checkpoints",
        *left);
  records_.read_earlier();
}

ExitCode Coordinator::train() try { return run_actions(); } catch (const StepIsCut&) {
  return give_up_step();
} catch (...) {
  records_.end_bar();  // before the error is printed
  throw;
}

ExitCode Coordinator::run_actions() {
  for (Situation now = situation();;) {
    const Action next = next_action(now, context_->config);
    if (!belongs_to_step(next)) step_.end();
    show_bar(next);
    if (is_stop_point(now, next) && stop_wanted()) return ExitCode::requeue;
    const Outcome outcome = perform(next);
    if (outcome.ends) return *outcome.ends;
    now = situation();
    now.last = next;
    now.is_best = outcome.is_best;
  }
}

/// Share of the training that is done; at least 1 if checkpoint.patience has ended the training.
double Coordinator::progress() const {
  const double done = steps_.course().progress(state_);
  return has_stalled(state_, context_->config.checkpoint) ? std::max(done, 1.0) : done;
}

Situation Coordinator::situation() const {
  return {.sft_steps = state_.sft_steps,
          .train_steps = state_.train_steps,
          .progress = progress(),
          .has_before = evaluations_.has_before(),
          .has_after = evaluations_.has_after()};
}

/// Begins the bar of a phase with its first step.
void Coordinator::show_bar(Action next) {
  if (records_.has_bar()) return;
  if (next == Action::warm_step)
    records_.begin_bar("sft", state_.sft_steps, context_->config.sft.steps);
  if (next == Action::train_step)
    records_.begin_bar("train", state_.train_steps, context_->config.train.steps);
}

Coordinator::Outcome Coordinator::perform(Action action) {
  switch (action) {
    case Action::warm_step: warm_step(); break;
    case Action::save_warm_step: begin_save(fmt::format("sft_{:06}", state_.sft_steps)); break;
    case Action::end_warm_start:
      records_.end_bar();
      stop_.begin_phase();
      steps_.send_weights();
      break;
    case Action::begin_training:
      if (progress() < 1.0) evaluations_.begin_training();
      break;
    case Action::evaluate_before:
      records_.write_status("eval before training", true);
      if (!evaluations_.measure_before()) return {.ends = stop_in_evaluation()};
      break;
    case Action::train_step: train_step(); break;
    case Action::validate: {
      const report::MetricRow row = evaluations_.validate();
      const auto& kept = context_->config.checkpoint;
      const bool is_best = note_validation(state_, kept, row);
      if (has_stalled(state_, kept)) log_info("{}", patience_text(state_, kept));
      return {.is_best = is_best};
    }
    case Action::save_train_step: begin_save(fmt::format("train_{:06}", state_.train_steps)); break;
    case Action::evaluate_after:
      records_.end_bar();
      records_.write_status("eval after training", true);
      if (!evaluations_.measure_after()) return {.ends = stop_in_evaluation()};
      break;
    case Action::save_end: begin_save(fmt::format("done_{:06}", state_.train_steps)); break;
    case Action::finish: return {.ends = finish()};
  }
  return {};
}

/// Opens a step, once it is known that no stop is wanted. Begins a checkpoint if the last one was
/// long ago.
void Coordinator::begin_step() {
  if (stop_.is_checkpoint_due(checkpoints_.since_s()))
    save_meanwhile(step_name(state_, context_->config));
  step_.begin(state_);
}

void Coordinator::warm_step() {
  begin_step();
  steps_.supervise();
  // Gradient norms of the supervised loss do not predict the norms of the next phase.
  if (state_.sft_steps == context_->config.sft.steps) state_.grad_norm_mean = 0.0;
  checkpoints_.notice();
}

void Coordinator::train_step() {
  archive_.count_passed();
  begin_step();
  const report::MetricRow row = steps_.train();
  state_.after.reset();  // it measured the policy before this step
  checkpoints_.notice();
  archive_.pack_when_due();
  // The metrics of a bad step do not measure the weights that its checkpoint would have.
  if (is_checkpoint_due(situation(), context_->config) && state_.bad_steps == 0)
    note_best(state_, context_->config.checkpoint.keep_best, row);
}

/// Begins a checkpoint to which a bad step may roll back. Once it is durable, the steps before it
/// may be packed. The previous checkpoint is completed first.
void Coordinator::begin_save(const std::string& name) {
  state_.rollback_to = name;
  save_meanwhile(name);
}

/// Begins a checkpoint that may be due only because time has passed. It changes neither the
/// checkpoint to which a bad step rolls back nor the steps that are compared.
void Coordinator::save_meanwhile(const std::string& name) {
  checkpoints_.finish();
  archive_.pack_when_due();
  checkpoints_.start(name);
}

ExitCode Coordinator::finish() {
  records_.end_bar();
  checkpoints_.finish();
  end_on_stop_signals(
      fmt::format("all is computed and saved, but for archive and result; {} makes them",
                  resume_command(context_->run_dir)),
      Ends::on_last_call);
  archive_.pack(state_.unpacked);
  std::string policy_sha256 = checkpoints_.newest().policy_sha256;
  if (policy_sha256.empty()) policy_sha256 = context_->store->sha256();
  const LongPhase phase("hashing the archive and writing the report");
  // No step follows, so its memory is free for reading the archive.
  model::huge_blocks().release_idle();
  evaluations_.drop_old();
  context_->rank_zero.lock->require_own();
  archive_.count_passed();
  const std::uint64_t missing = archive_.require_rollouts();
  write_results(*context_, state_, records_.verdicts(), policy_sha256, checkpoints_.newest().name,
                missing);
  records_.write_status("done", true);
  return ExitCode::done;
}

/// Whether the run was asked to stop between two steps. Then its state is saved first.
bool Coordinator::stop_wanted() {
  const auto reason = stop_.reason();
  if (!reason) return false;
  records_.end_bar();
  log_info("stopping on {}", *reason);
  checkpoints_.finish();
  checkpoints_.start(step_name(state_, context_->config));  // packing can wait for the next start
  checkpoints_.finish();
  log_info("all steps up to here are saved as checkpoint {}; to go on: {}",
           checkpoints_.newest().name, resume_command(context_->run_dir));
  records_.write_status("stopped on " + *reason, true);
  return true;
}

/// Ends the run in an evaluation that was stopped. A resume repeats the whole evaluation.
ExitCode Coordinator::stop_in_evaluation() {
  require<EnvironmentError>(
      step_.has_ended() || !stop_.is_out_of_time(),
      "an evaluation did not finish within a whole job",
      "every restart would begin it again, forever",
      "lower eval.samples or task.heldout_prompts, add ranks that generate, or ask for more time");
  stop_wanted();
  return ExitCode::requeue;
}

/// Ends the run within a step that a signal has cut. Nothing of the step is kept.
ExitCode Coordinator::give_up_step() {
  records_.end_bar();
  const std::string reason = stop_.reason_of_cut();
  checkpoints_.finish();
  records_.keep_rows(step_.metric_rows());  // a step that is cut during its validation has left a
                                            // row
  step_.take_back(state_);
  const bool supervised = step_name(state_, context_->config).starts_with("sft");
  const std::string& newest = checkpoints_.newest().name;
  log_info("stopping on {}: {}step {} is cut after {:.0f} s, and {} draws it again, from {}",
           reason, supervised ? "supervised " : "",
           1 + (supervised ? state_.sft_steps : state_.train_steps), step_.seconds(),
           resume_command(context_->run_dir),
           newest.empty() ? "the beginning" : "checkpoint " + newest);
  records_.write_status("stopped on " + reason, true);
  return ExitCode::requeue;
}

}  // namespace rollcall::run
