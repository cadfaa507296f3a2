// A run that begins where another was: at one of its checkpoints, with other settings, in a folder
// of its own.
#pragma once

#include "core/run_config.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/context/run_context.hpp"
#include "run/folder/recorded_settings.hpp"

#include <filesystem>
#include <string>

namespace rollcall::run {

/// Where a run branches off.
struct Branch {
  std::filesystem::path parent;  ///< its run folder
  std::string checkpoint;        ///< one that it has kept
  RunConfig settings;            ///< that the checkpoint was made with
  CoordinatorState state;
};

/// The checkpoint that "RUN" or "RUN@STEP" names. Throws InputError listing those that there are.
Branch find_branch(const std::string& reference);

/// The settings of the branch with what follows from where it begins: no warm start, no evaluation
/// before it. Throws ConfigError, EnvironmentError where they cannot be those of a branch.
RunConfig settings_of_branch(const Branch& branch, RunConfig config);

/// Makes the checkpoint the first one of run.dir: weights, moments, the states of scheduler and
/// objective, and what it needs of earlier steps, linked where the file system can. RUN/parent.json
/// and the state name the parent, the step and the keys that differ. The checkpoint comes last.
void plant(const Branch& branch, const RunContext& context);

}  // namespace rollcall::run
