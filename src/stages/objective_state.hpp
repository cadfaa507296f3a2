// What an objective remembers from step to step: moving statistics, and each prompt's history where a piece asks for it. A value, in every checkpoint.
#pragma once

#include "base/id.hpp"
#include "stages/step_batch.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace rollcall::stages {

/// Outcomes of one prompt so far: decayed counts of successes and failures, and its shortest correct answer.
struct PromptHistory {
  double successes = 1.0, failures = 1.0;  ///< Beta(1, 1) before anything is known
  std::int64_t best_length = 0;            ///< policy tokens; 0: never solved
  double prior() const { return successes / (successes + failures); }
};

struct ObjectiveState {
  std::map<std::string, double> statistics;        ///< Objective::statistics of the last optimizer step
  std::map<std::uint64_t, PromptHistory> prompts;  ///< by PromptId; empty unless the objective reads it

  PromptHistory of(PromptId prompt) const;
  /// Takes a closed step in: counts decay once per group, then take the group's mean success.
  void learn(const StepBatch& batch, double decay);

  std::string to_json() const;
  static ObjectiveState parse(const std::string& json, const std::string& origin);  ///< throws StorageError
};

}  // namespace rollcall::stages
