// The update ranks write their shares; rank 0 counts them, then writes its own files and the
// manifest on a thread.
#include "run/coordinator/checkpoints.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint_settings.hpp"
#include "run/checkpoint/part.hpp"
#include "run/context/run_context.hpp"
#include "run/coordinator/kept_checkpoints.hpp"
#include "run/coordinator/kept_folder.hpp"

namespace rollcall::run {

Checkpoints::Checkpoints(const RunContext& context, Mailbox& mail, Inbox& inbox,
                         CoordinatorState& state, scheduling::Scheduler& scheduler,
                         OnDurable on_durable)
    : context_(&context),
      mail_(&mail),
      inbox_(&inbox),
      state_(&state),
      scheduler_(&scheduler),
      on_durable_(std::move(on_durable)) {
  inbox.give_saved_to([this](SaveReport report) { on_saved(std::move(report)); });
}

std::optional<scheduling::LoadReport> Checkpoints::resume(const io::StoredCheckpoint& checkpoint) {
  newest_.name = checkpoint.name();
  if (!SchedulerFiles::are_in(checkpoint)) return std::nullopt;
  return scheduler_files_.load(*scheduler_, checkpoint);
}

void Checkpoints::start(const std::string& name) {
  const Stopwatch clock;
  const auto& writers = context_->layout.of(comm::Stage::update);
  since_ = {};
  Saving& saving = saving_.emplace();
  saving.name = name;
  saving.steps = state_->train_steps;
  saving.missing = writers.size();
  saving.covered = state_->unpacked;
  if (state_->train_steps > 0 && is_kept(state_->train_steps, context_->config.checkpoint) &&
      name == step_name(*state_, context_->config))
    keep_for_good(*state_, name);
  saving.keep = kept_checkpoints(*state_);
  saving.own.earlier = newest_.name;
  scheduler_files_.add_to(saving.own, *scheduler_);
  saving.own.files[file_of(Part::coordinator)] = [state = *state_] { return to_json(state); };
  saving.needs = part_needs(context_->config, *state_, name);
  context_->rank_zero.lock->require_own();
  mail_->send_all(writers, Tag::save, SaveRequest{name, newest_.name});
  waited_s_ += clock.seconds();
}

void Checkpoints::on_saved(SaveReport report) {
  require<ProtocolError>(saving_ && saving_->missing > 0,
                         "a share of a checkpoint arrived that was not requested",
                         "the ranks disagree about the step", "resume from the last checkpoint");
  saving_->files.merge(report.files);
  if (!report.policy_sha256.empty()) saving_->policy_sha256 = report.policy_sha256;
  if (--saving_->missing > 0) return;
  ending_.start([run_dir = context_->run_dir, name = saving_->name, own = std::move(saving_->own),
                 files = std::move(saving_->files), keep = std::move(saving_->keep),
                 needs = saving_->needs, last = context_->config.checkpoint.keep_last,
                 settings = settings_text(context_->config)] {
    auto all = files;
    all.merge(io::write_share(run_dir, name, own));
    check_parts(all, needs, name);
    io::end_checkpoint(run_dir, name, all, settings);
    io::prune_checkpoints(run_dir, last, keep);
    return all;
  });
}

void Checkpoints::finish() {
  if (!saving_) return;
  const Stopwatch waiting;
  const std::string what = "checkpoint " + saving_->name;
  while (saving_->missing > 0) inbox_->await_envelope(Tag::saved, what);
  ending_.wait(context_->config.run.deadline_s, what);
  waited_s_ += waiting.seconds();
  become_durable();
}

void Checkpoints::notice() {
  if (saving_ && ending_.poll()) become_durable();
}

void Checkpoints::become_durable() {
  newest_ = {saving_->name, saving_->policy_sha256};
  on_durable_({std::move(saving_->covered), saving_->steps, since_.seconds()});
  saving_.reset();
}

}  // namespace rollcall::run
