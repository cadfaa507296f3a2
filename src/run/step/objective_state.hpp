// What an objective remembers from step to step: moving statistics, and each prompt's results where
// a piece asks for them. A value, in every checkpoint.
#pragma once

#include "base/id.hpp"
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
  scheduling::SuccessTracker success{};        ///< learns the same from the same groups as the
                                               ///< scheduler's
  std::map<std::uint64_t, std::int64_t> best_length{};  ///< by PromptId: policy tokens of its
                                                        ///< shortest correct answer; none: never
                                                        ///< solved

  std::int64_t best(PromptId prompt) const;  ///< 0: never solved
  /// Takes a closed step in. `drift`: [groups] mean |log-prob now - when sampled| over the prompt's
  /// previous rollout, NaN where there is none; empty: all NaN.
  void learn(const StepBatch& batch, const std::vector<double>& drift);

  std::string to_json() const;
  void restore(const std::string& json, const std::string& origin);  ///< throws StorageError
};

}  // namespace rollcall::run
