// Checks before a resumed run trains: what it may not change, before the data are read and a grader
// is started, and its archive, whose damage would otherwise be found at the end of the run.
#pragma once

#include "base/errors/faults.hpp"
#include "core/run_config.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <filesystem>

namespace rollcall::run {

/// Gives settings that a run file leaves open the values of the first start (as_begun()), and adds
/// to `faults` that the run in run.dir, which must hold one, has done more steps than train.steps,
/// or was started with other settings. Settings that a start takes from rows and model files are
/// compared again when those have been read. Throws StorageError.
void take_recorded(RunConfig& config, Faults& faults);

/// Throws StorageError where a file that the manifest or the checkpoint's state names is missing or
/// has a different size. Contents are not read, because an archive may be large. Throws ConfigError
/// if the archive holds training steps beyond train.steps, which belong to a newer checkpoint that
/// is damaged or gone.
void check_archive(const RunConfig& config, const CoordinatorState& state);

/// Throws StorageError if a run without a checkpoint has packed steps, because the checkpoint that
/// preceded them is gone.
void require_checkpoint_of_archive(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
