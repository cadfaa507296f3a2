// How a run stops before its end: between two steps with a checkpoint, within a step or an
// evaluation
// without what is under way.
#include "base/error.hpp"
#include "base/log.hpp"
#include "run/coordinator/coordinator.hpp"

#include <fmt/format.h>

namespace rollcall::run {

bool Coordinator::stop_wanted() {
  const auto reason = stop_.reason();
  if (!reason) return false;
  progress_.reset();
  log_info("stopping on {}", *reason);
  finish_save();
  start_save(step_name());  // packing can wait for the next start
  finish_save();
  write_status("stopped on " + *reason, true);
  return true;
}

std::string Coordinator::stop_reason() {
  if (!stop_.reason()) stop_.remember_signal("a signal on another rank");
  return *stop_.reason();
}

ExitCode Coordinator::stopped_early() {
  require<EnvironmentError>(
      stepped_ || !stop_.is_out_of_time(), "an evaluation did not finish within a whole job",
      "every restart would begin it again, forever",
      "lower eval.samples or task.heldout_prompts, add ranks that generate, or ask for more time");
  stop_wanted();
  return ExitCode::requeue;
}

void Coordinator::begin_step() {
  if (stop_.is_checkpoint_due(since_save_.seconds())) save_meanwhile(step_name());
  begun_ = {state_.sft_steps, state_.train_steps, state_.rollouts_total, metrics_->rows(), {}};
}

ExitCode Coordinator::give_up_step() {
  progress_.reset();
  const std::string reason = stop_reason();
  finish_save();
  // cut in its validation
  if (metrics_->rows() > begun_.metric_rows)
    metrics_.emplace(context_->run_dir, begun_.metric_rows);
  state_.sft_steps = begun_.sft_steps, state_.train_steps = begun_.train_steps;
  state_.rollouts_total = begun_.rollouts_total;
  const bool supervised = step_name().starts_with("sft");
  log_info("stopping on {}: {}step {} is cut after {:.0f} s, and a resume draws it again, from {}",
           reason, supervised ? "supervised " : "",
           1 + (supervised ? state_.sft_steps : state_.train_steps), begun_.clock.seconds(),
           checkpoint_.empty() ? "the beginning" : "checkpoint " + checkpoint_);
  write_status("stopped on " + reason, true);
  return ExitCode::requeue;
}

}  // namespace rollcall::run
