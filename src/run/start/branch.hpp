// A branch: a run that begins at a checkpoint of another run, with different settings and a
// separate folder.
#pragma once

#include "core/run_config.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/folder/recorded_settings.hpp"

#include <filesystem>
#include <string>

namespace rollcall::run {

struct RunContext;

/// The point at which a run branches off.
struct Branch {
  std::filesystem::path parent;  ///< run folder of the other run
  std::string checkpoint;        ///< name of the checkpoint in that folder
  RunConfig settings;            ///< settings with which the checkpoint was made
  CoordinatorState state;
};

/// The checkpoint that "RUN" or "RUN@STEP" names. Throws InputError, which lists the existing
/// checkpoints.
Branch find_branch(const std::string& reference);

/// Throws ConfigError or EnvironmentError if the branch cannot begin in the folder because another
/// run is there.
void require_folder_of_branch(const Branch& branch, const std::filesystem::path& run_dir);

/// The settings of the branch, without a warm start and an evaluation before training, since it
/// begins in the training. Throws ConfigError where they cannot be the settings of a branch.
RunConfig settings_of_branch(const Branch& branch, RunConfig config);

/// Copies the checkpoint into run.dir as the first one of the branch: weights, moments, the states
/// of scheduler and objective, and the files of earlier steps that it needs, as links if the file
/// system has them. RUN/parent.json and the state name the parent, the step and the keys that
/// differ. The checkpoint is written last.
void plant(const Branch& branch, const RunContext& context);

}  // namespace rollcall::run
