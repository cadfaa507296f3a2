// The table of built-in environments, like reward/verifiers.cpp for verifiers.
#pragma once

#include "core/run_config.hpp"
#include "environment/environment.hpp"

#include <memory>
#include <string>
#include <vector>

namespace rollcall::environment {

/// A row of environments.cpp.
struct EnvironmentRow {
  const char* name;
  const char* meaning;
  /// The task that provides its prompts; nullptr: any task that the run's verifier can judge.
  const char* task;
  /// Whether a step may take longer than a millisecond, so that separate threads carry it out.
  bool slow;
  std::unique_ptr<const Environment> (*make)(const RunConfig& config);
};

/// Throws ConfigError that names the nearest name.
const EnvironmentRow& find_environment(const std::string& name);
std::vector<std::string> environment_names();

}  // namespace rollcall::environment
