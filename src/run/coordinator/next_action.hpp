// Decides what rank 0 does next in a run, as a pure function of numbers, without messages, files or
// clocks. One step is in flight at a time.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>
#include <optional>

namespace rollcall::run {

/// What rank 0 can do next. A step is one of warm_step and train_step together with the actions
/// that follow it and belong to it (belongs_to_step).
enum class Action : std::uint8_t {
  warm_step,        ///< one supervised step of the warm start
  save_warm_step,   ///< a checkpoint of a supervised step
  end_warm_start,   ///< sends the weights that the warm start has made to the ranks that generate
  begin_training,   ///< sorts out which evaluations of earlier starts belong before the training
  evaluate_before,  ///< an evaluation on the held-out prompts, before the first train step
  train_step,       ///< one step of rollouts, rewards and an update
  validate,         ///< an evaluation on the validation prompts, after a train step
  save_train_step,  ///< a checkpoint of a train step
  evaluate_after,   ///< an evaluation on the held-out prompts, after the last train step
  save_end,         ///< a checkpoint with the evaluation after the last train step
  finish,           ///< packs the archive and writes the results; the run is done
};

/// How far a run is, between two actions.
struct Situation {
  std::optional<Action> last{};  ///< the action that has just been done; nothing: the run has just
                                 ///< been started or resumed
  std::int64_t sft_steps = 0;    ///< supervised steps that are done
  std::int64_t train_steps = 0;  ///< train steps that are done
  double progress = 0.0;         ///< share of the training that is done; 1 or more: all of it
  bool has_before = false;       ///< there is an evaluation before training that still counts
  bool has_after = false;        ///< there is an evaluation after training that still counts
  bool is_best = false;          ///< the last validation had the best value so far
};

/// The action after `now.last`.
Action next_action(const Situation& now, const RunConfig& config);

/// Whether the train step that was done last gets a checkpoint regardless of its validation.
bool is_checkpoint_due(const Situation& now, const RunConfig& config);

/// Whether the action is part of the step before it. A step ends when the next action is not part
/// of it.
bool belongs_to_step(Action action);

/// Whether rank 0 looks for a request to stop before it begins the action `next`.
bool is_stop_point(const Situation& now, Action next);

}  // namespace rollcall::run
