// Decides which checkpoints a run keeps in addition to its newest ones: the best one, those that
// checkpoint.keep_every names, and the one to roll back to. Also decides when training ends because
// no better checkpoint has come (checkpoint.patience). The decisions depend only on numbers in the
// coordinator's state.
#pragma once

#include "core/run_config.hpp"
#include "report/metrics.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::run {

/// The name of a checkpoint of the step that was done last: "train_000020" or "sft_000020".
std::string step_name(const CoordinatorState& state, const RunConfig& config);

/// Whether checkpoint.keep_every names the train step.
bool is_kept(std::int64_t step, const CheckpointSection& config);

/// Notes in the state that a checkpoint stays until the end of the run.
void keep_for_good(CoordinatorState& state, const std::string& name);

/// At a start: notes that checkpoints in the run folder stay if checkpoint.keep_every named them
/// when they were written, or names them now. `newest`: the checkpoint that the run resumes from;
/// empty for a fresh start.
void keep_earlier(CoordinatorState& state, const RunConfig& config,
                  const std::filesystem::path& run_dir, const std::string& newest);

/// The checkpoints that stay, no matter how old they are. A name may occur more than once.
std::vector<std::string> kept_checkpoints(const CoordinatorState& state);

/// Notes in the state that the train step done last has the best value so far of the metric that
/// `keep_best` (the setting checkpoint.keep_best) names. False when it has not, or when the row is
/// of another phase or lacks the metric.
bool note_best(CoordinatorState& state, const std::string& keep_best, const report::MetricRow& row);

/// note_best() for a row of a validation. Where checkpoint.patience is set, this also counts the
/// validations since the best one, including one without a figure or with NaN.
bool note_validation(CoordinatorState& state, const CheckpointSection& config,
                     const report::MetricRow& row);

/// Whether the training ends because checkpoint.patience validations in a row brought no new best.
bool has_stalled(const CoordinatorState& state, const CheckpointSection& config);

/// Such as "2 of 3 validations without a new best of validation/pass_at_1, which was that of
/// train_000040"; where the training has stalled, it goes on to say so. Empty where
/// checkpoint.patience is 0.
std::string patience_text(const CoordinatorState& state, const CheckpointSection& config);

/// Forgets the best step, and logs that, when `keep_best` names another metric than before. Stops
/// counting validations when checkpoint.patience is 0.
void forget_other_best(CoordinatorState& state, const CheckpointSection& config);

}  // namespace rollcall::run
