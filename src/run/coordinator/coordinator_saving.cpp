// Checkpoints as rank 0 sees them: begun at a step's end, written by all update ranks while the run
// goes on, ended by rank 0; then the archive may follow.
#include "base/error.hpp"
#include "core/settings_text.hpp"
#include "io/checkpoint_settings.hpp"
#include "run/coordinator/coordinator.hpp"
#include "run/coordinator/kept_folder.hpp"
#include "run/folder/recorded_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace rollcall::run {

std::string Coordinator::step_name() const {
  return state_.train_steps > 0 || state_.sft_steps >= context_->config.sft.steps
             ? fmt::format("train_{:06}", state_.train_steps)
             : fmt::format("sft_{:06}", state_.sft_steps);
}

bool Coordinator::is_kept(std::int64_t step) const {
  const std::int64_t every = context_->config.checkpoint.keep_every;
  return every > 0 && step % every == 0;
}

void Coordinator::keep_for_good(const std::string& name) {
  auto& kept = *state_.kept;
  if (std::find(kept.begin(), kept.end(), name) == kept.end()) kept.push_back(name);
}

void Coordinator::keep_earlier() {
  std::vector<std::string> damaged;
  const auto names = io::list_checkpoints(context_->run_dir, &damaged);
  const auto keep_multiples = [&](std::int64_t every) {
    for (std::int64_t step = every; every > 0 && step <= state_.train_steps; step += every)
      if (const auto name = fmt::format("train_{:06}", step);
          std::find(names.begin(), names.end(), name) != names.end())
        keep_for_good(name);
  };
  if (!state_.kept) {  // an earlier build kept by the setting alone
    state_.kept.emplace();
    const auto recorded =
        checkpoint_.empty() ? std::nullopt : recorded_settings(context_->run_dir, checkpoint_);
    if (recorded) keep_multiples(recorded->config.checkpoint.keep_every);
  }
  keep_multiples(context_->config.checkpoint.keep_every);
}

void Coordinator::begin_save(const std::string& name) {
  state_.rollback_to = name;
  save_meanwhile(name);
}

void Coordinator::save_meanwhile(const std::string& name) {
  finish_save();
  pack_when_due();
  start_save(name);
}

void Coordinator::start_save(const std::string& name) {
  const Stopwatch clock;
  const auto& writers = context_->layout.of(comm::Stage::update);
  since_save_ = {};
  state_.metric_rows = metrics_->rows();
  Saving& saving = saving_.emplace();
  saving.name = name, saving.steps = state_.train_steps, saving.missing = writers.size();
  saving.covered = state_.unpacked;
  for (const auto& kept : {state_.best_checkpoint, state_.rollback_to})
    if (!kept.empty()) saving.keep.push_back(kept);
  if (state_.train_steps > 0 && is_kept(state_.train_steps) && name == step_name())
    keep_for_good(name);
  saving.keep.insert(saving.keep.end(), state_.kept->begin(), state_.kept->end());
  saving.own.earlier = checkpoint_;
  scheduler_files_.add_to(saving.own, *scheduler_);
  saving.own.files[file_of(Part::coordinator)] = [state = state_] { return to_json(state); };
  saving.needs = part_needs(context_->config, *objective_, state_, name);
  context_->lock->require_own();
  mail_->send_all(writers, Tag::save, SaveRequest{name, checkpoint_});
  saving_s_ += clock.seconds();
}

void Coordinator::on_saved(SaveReport report) {
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

void Coordinator::finish_save() {
  if (!saving_) return;
  const Stopwatch waiting;
  const std::string what = "checkpoint " + saving_->name;
  while (saving_->missing > 0) await_envelope(Tag::saved, what);
  ending_.wait(context_->config.run.deadline_s, what);
  saving_s_ += waiting.seconds();
  saved();
}

void Coordinator::notice_saved() {
  if (saving_ && ending_.poll()) saved();
}

void Coordinator::saved() {
  checkpoint_ = saving_->name;
  policy_sha256_ = saving_->policy_sha256;
  covered_ = std::move(saving_->covered), covered_steps_ = saving_->steps;
  stop_.checkpoint_took(saving_->clock.seconds());
  saving_.reset();
}

void Coordinator::pack_when_due() {
  // Only what a durable checkpoint covers is packed: a resumed run never draws an archived step
  // again.
  if (covered_steps_ - state_.packed_steps < context_->config.archive.pack_every) return;
  pack(std::move(covered_));
  covered_.clear();
}

bool Coordinator::note_best(const report::MetricRow& row) {
  const auto& wanted = context_->config.checkpoint.keep_best;
  const bool least = wanted.starts_with('-');
  const std::string name = least ? wanted.substr(1) : wanted;
  if (name.empty() || name.starts_with("validation/") != (row.phase == "validation")) return false;
  const auto found = std::find_if(row.values.begin(), row.values.end(),
                                  [&](const auto& value) { return value.first == name; });
  if (found == row.values.end())
    return false;  // no candidate: a step need not have what the
                   // metric measures
  const double value = least ? -found->second : found->second;
  // nor one that is no number
  if (!(value > state_.best_value.value_or(-std::numeric_limits<double>::infinity()))) return false;
  state_.best_value = value, state_.best_metric = wanted;
  state_.best_checkpoint = fmt::format("train_{:06}", state_.train_steps);
  return true;
}

}  // namespace rollcall::run
