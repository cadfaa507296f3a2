// Names checkpoints, compares a step with the best one so far, and counts validations since it.
#include "run/coordinator/kept_checkpoints.hpp"

#include "base/errors/log.hpp"
#include "io/checkpoint.hpp"
#include "run/folder/recorded_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace rollcall::run {

std::string step_name(const CoordinatorState& state, const RunConfig& config) {
  return state.train_steps > 0 || state.sft_steps >= config.sft.steps
             ? fmt::format("train_{:06}", state.train_steps)
             : fmt::format("sft_{:06}", state.sft_steps);
}

bool is_kept(std::int64_t step, const CheckpointSection& config) {
  return config.keep_every > 0 && step % config.keep_every == 0;
}

void keep_for_good(CoordinatorState& state, const std::string& name) {
  auto& kept = *state.kept;
  if (std::find(kept.begin(), kept.end(), name) == kept.end()) kept.push_back(name);
}

void keep_earlier(CoordinatorState& state, const RunConfig& config,
                  const std::filesystem::path& run_dir, const std::string& newest) {
  std::vector<std::string> damaged;
  const auto names = io::list_checkpoints(run_dir, &damaged);
  const auto keep_multiples = [&](std::int64_t every) {
    for (std::int64_t step = every; every > 0 && step <= state.train_steps; step += every)
      if (const auto name = fmt::format("train_{:06}", step);
          std::find(names.begin(), names.end(), name) != names.end())
        keep_for_good(state, name);
  };
  if (!state.kept) {  // An earlier build kept the checkpoints that its setting named, without a
                      // list.
    state.kept.emplace();
    const auto recorded = newest.empty() ? std::nullopt : recorded_settings(run_dir, newest);
    if (recorded) keep_multiples(recorded->config.checkpoint.keep_every);
  }
  keep_multiples(config.checkpoint.keep_every);
}

std::vector<std::string> kept_checkpoints(const CoordinatorState& state) {
  std::vector<std::string> names;
  for (const auto& name : {state.best_checkpoint, state.rollback_to})
    if (!name.empty()) names.push_back(name);
  names.insert(names.end(), state.kept->begin(), state.kept->end());
  return names;
}

bool note_best(CoordinatorState& state, const std::string& keep_best,
               const report::MetricRow& row) {
  const bool least = keep_best.starts_with('-');
  const std::string name = least ? keep_best.substr(1) : keep_best;
  if (name.empty() || name.starts_with("validation/") != (row.phase == "validation")) return false;
  const auto found = std::find_if(row.values.begin(), row.values.end(),
                                  [&](const auto& value) { return value.first == name; });
  // A step need not have this metric.
  if (found == row.values.end()) return false;
  const double value = least ? -found->second : found->second;
  // The comparison is false for NaN too, which is never the best.
  if (!(value > state.best_value.value_or(-std::numeric_limits<double>::infinity()))) return false;
  state.best_value = value;
  state.best_metric = keep_best;
  state.best_checkpoint = fmt::format("train_{:06}", state.train_steps);
  return true;
}

bool note_validation(CoordinatorState& state, const CheckpointSection& config,
                     const report::MetricRow& row) {
  const bool is_best = note_best(state, config.keep_best, row);
  if (config.patience > 0)
    state.validations_since_best = is_best ? 0 : state.validations_since_best + 1;
  return is_best;
}

bool has_stalled(const CoordinatorState& state, const CheckpointSection& config) {
  return config.patience > 0 && state.validations_since_best >= config.patience;
}

std::string patience_text(const CoordinatorState& state, const CheckpointSection& config) {
  if (config.patience == 0) return {};
  return fmt::format("{} of {} validations without a new best of {}{}{}",
                     state.validations_since_best, config.patience, config.keep_best,
                     state.best_checkpoint.empty()
                         ? ""
                         : fmt::format(", which was that of {}", state.best_checkpoint),
                     has_stalled(state, config)
                         ? fmt::format(": the training ends after step {} (checkpoint.patience)",
                                       state.train_steps)
                         : "");
}

void forget_other_best(CoordinatorState& state, const CheckpointSection& config) {
  const std::string& keep_best = config.keep_best;
  if (config.patience == 0) state.validations_since_best = 0;
  if (state.best_metric.empty() || state.best_metric == keep_best) return;
  log_info(
      "checkpoint.keep_best was {} and is \"{}\" now: the best checkpoint is chosen among the steps from here on",
      state.best_metric, keep_best);
  state.best_value.reset();
  state.best_metric.clear();
  state.best_checkpoint.clear();
  state.validations_since_best = 0;
}

}  // namespace rollcall::run
