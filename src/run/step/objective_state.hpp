// The state that an objective keeps from step to step: moving statistics, and the results of each
// prompt if a piece reads them. Every checkpoint has it.
#pragma once

#include "base/numbers/id.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/step/step_batch.hpp"
#include "scheduling/prompts/success_tracker.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace rollcall::run {

struct ObjectiveState {
  std::map<std::string, double> statistics{};  ///< Objective::statistics of the last optimizer step
  scheduling::SuccessTracker success{};        ///< learns from the same groups as the scheduler's
                                               ///< tracker, with the same result
  std::map<std::uint64_t, std::int64_t> best_length{};  ///< by PromptId: policy tokens of the
                                                        ///< shortest correct answer; a prompt that
                                                        ///< was never solved is not in it

  std::int64_t best(PromptId prompt) const;  ///< a value of best_length; 0: never solved
  /// Learns from a closed step. `drift`: [groups] mean |log-prob now - when sampled| over the
  /// prompt's previous rollout, NaN for a prompt without one; empty: all NaN.
  void learn(const StepBatch& batch, const std::vector<double>& drift);

  std::string to_json() const;
  void restore(const std::string& json, const std::string& origin);  ///< throws StorageError
};

}  // namespace rollcall::run
