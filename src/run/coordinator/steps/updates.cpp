// Exchanges messages with the update ranks and follows the running mean of the gradient norm.
#include "run/coordinator/steps/updates.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/steps/step_plans.hpp"
#include "run/workers/step_cut.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {
namespace {

constexpr double kNormMomentum = 0.9;  // weight of the past in the running mean of the gradient
                                       // norm, with which a spike is compared

}  // namespace

/// A gradient norm above the returned number is a spike; 0 means that there is no limit.
double Updates::grad_norm_limit() const {
  const double factor = context_->config.train.loss_spike_factor;
  return factor > 0 && state_->grad_norm_mean > 0 ? factor * state_->grad_norm_mean : 0.0;
}

UpdateReport Updates::supervise(SupervisePlan plan) {
  plan.grad_norm_limit = grad_norm_limit();
  plan.times = step_->times();
  mail_->send_led(context_->layout.of(comm::Stage::update), Tag::supervise, plan,
                  [](SupervisePlan& p) { p.prompts.clear(); });
  auto report = inbox_->await<UpdateReport>(
      Tag::updated, fmt::format("the update of supervised step {}", plan.step));
  if (report.outcome == UpdateOutcome::cut) throw StepIsCut{};
  state_->policy_version = report.version;
  return report;
}

UpdateReport Updates::update(UpdatePlan head, std::vector<ScoredFile> files,
                             std::vector<scheduling::GroupTraining> training) {
  head.grad_norm_limit = grad_norm_limit();
  head.times = step_->times();
  const std::uint64_t step = head.step;
  send_update(*mail_, context_->layout.of(comm::Stage::update), std::move(head), std::move(files),
              std::move(training));
  auto report =
      inbox_->await<UpdateReport>(Tag::updated, fmt::format("the update of step {}", step));
  if (report.outcome == UpdateOutcome::cut) throw StepIsCut{};
  state_->policy_version = report.version;
  note_stored(step, report.stored);
  return report;
}

/// `stored`: ascending by path. Files that ranks had only in memory get the size and the checksum
/// under which they were stored. The file that lists the rollouts on which the step trained is
/// added.
void Updates::note_stored(std::uint64_t step, const std::vector<io::PublishedFile>& stored) {
  for (auto& file : state_->unpacked) {
    for (auto* part : {&file.files.shard, &file.files.scores}) {
      const auto found =
          std::lower_bound(stored.begin(), stored.end(), *part,
                           [](const auto& a, const auto& b) { return a.path < b.path; });
      if (found != stored.end() && found->path == part->path) *part = *found;
      expect(part->bytes > 0 || file.files.cached_on_rank < 0,
             "a keeper has stored its files by the end of the step");
    }
  }
  for (const auto& published : stored)
    if (UnpackedFile file{Purpose::train, step, {published, published}}; is_training(file))
      state_->unpacked.push_back(std::move(file));
  std::sort(state_->unpacked.begin(), state_->unpacked.end(), by_step_and_path);
}

void Updates::send_weights() {
  mail_->send_all(transfer_ranks_, Tag::weights, state_->policy_version);
  // Rank 0 takes part like any other rank: its own message waits in the local queue and is handled
  // during the next wait.
}

void Updates::check(const UpdateReport& report, const std::string& step) {
  const auto& config = context_->config.train;
  if (report.outcome == UpdateOutcome::applied) {
    state_->bad_steps = 0;
    const double norm = report.gradient_norm;
    if (norm == 0.0) return;  // a step without a gradient gives no information about the usual norm
    state_->grad_norm_mean =
        state_->grad_norm_mean == 0.0
            ? norm
            : kNormMomentum * state_->grad_norm_mean + (1.0 - kNormMomentum) * norm;
    return;
  }
  ++state_->bad_steps;
  std::string what = report.outcome == UpdateOutcome::nonfinite ? "the gradient is not finite"
                                                                : "the gradient norm spiked";
  if (report.updates > 1)
    what += fmt::format(" at update {} of {}", report.applied + 1, report.updates);
  require<NumericsError>(
      config.on_nonfinite != "stop" && state_->bad_steps < config.max_bad_steps,
      fmt::format("{} in {} ({} bad steps in a row)", what, step, state_->bad_steps),
      "further training would ruin the policy",
      "lower train.lr, look at that step in the archive, or resume from an older checkpoint");
  checkpoints_->finish();  // the checkpoint to roll back to may be the one that is being written
  const bool back = config.on_nonfinite == "rollback" && !state_->rollback_to.empty();
  const std::string stays =
      report.applied == 0
          ? "step skipped"
          : fmt::format(
                "the rest of the step is skipped, and what was applied before it stays ({})",
                report.applied);
  log_warning("{} in {}: {}", what, step, back ? "rolling back" : stays);
  if (!back) return;
  mail_->send_all(context_->layout.of(comm::Stage::update), Tag::rollback, state_->rollback_to);
  state_->policy_version = inbox_->await<UpdateReport>(Tag::updated, "the rollback").version;
  send_weights();
}

}  // namespace rollcall::run
