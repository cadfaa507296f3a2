// Columns with what an objective reads about the step itself and about each prompt's past.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/objective_state.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// Completes the columns of some groups of a step.
class PromptColumns {
 public:
  using Statistics = std::map<std::string, double>;

  /// `prompts`: the training prompts. `state` is read at each call. All arguments must outlive this
  /// object.
  PromptColumns(const RunConfig& config, const std::vector<Prompt>& prompts,
                const method::Objective& objective, const ObjectiveState& state);

  /// `columns` of these groups with seed, step, progress, the moving statistics, what training
  /// decided of each rollout, and [rollouts] the tracked success, the prediction and the shortest
  /// correct answer of each rollout's prompt. Throws ConfigError where the objective reads one of
  /// these and it is not known.
  method::StepColumns complete(method::StepColumns columns, const UpdatePlan& plan,
                               const StepBatch& batch, const std::vector<std::size_t>& groups,
                               const Statistics& statistics) const;

 private:
  bool reads(const char* column) const;

  const RunConfig* config_;
  const std::vector<Prompt>* prompts_;
  const method::Objective* objective_;
  const ObjectiveState* state_;
};

}  // namespace rollcall::run
