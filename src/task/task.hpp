// Prompt sources, which give prompts, reference answers and worked solutions.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace rollcall::task {

/// A task's three splits, made once. Prompts depend only on (task section, seed), and no text
/// occurs in more than one split.
struct PromptSet {
  std::vector<Prompt> train, validation, heldout;  ///< PromptId == index within the split
  const std::vector<Prompt>& of(Split split) const {
    return split == Split::train ? train : split == Split::validation ? validation : heldout;
  }
  std::unordered_map<std::string, std::string> extra{};  ///< by prompt text: JSON object with the
                                                         ///< row's id or line and all of its fields
                                                         ///< other than question and answer
  std::string extra_of(const Prompt& prompt) const {     ///< empty if the prompt comes from no row
    const auto row = extra.find(prompt.text);
    return row == extra.end() ? std::string() : row->second;
  }
  std::string hash;  ///< SHA-256 over all prompts in order: the data hash of the run identity
};

/// A row of the table task/tasks.cpp.
struct TaskRow {
  const char* name;
  const char* meaning;
  PromptSet (*make)(const TaskSection& section, std::uint64_t seed);
  const char* verifier;  ///< the row in reward/verifiers.cpp that judges its answers
  /// The row in environment/environments.cpp for the environment its prompts are played in;
  /// nullptr: they are answered in one turn.
  const char* environment = nullptr;
};

/// Throws ConfigError (unknown name, naming the nearest) or InputError (missing or malformed file,
/// with line number).
const TaskRow& find_task(const std::string& name);
std::vector<std::string> task_names();

/// The name of the built-in environment that the policy talks with: environment.name, else the
/// task's environment. Empty if environment.command is set, or if the run's answers are single
/// turns. Throws what find_task() throws.
std::string built_in_environment(const RunConfig& config);
/// Whether the rollouts of a run are conversations, with a command or with a built-in environment.
bool has_environment(const RunConfig& config);

}  // namespace rollcall::task
