// Checks the archive before a resumed run trains. Damage that would otherwise be found at the end
// of the run is found here.
#pragma once

#include "core/run_config.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <filesystem>

namespace rollcall::run {

/// Throws StorageError if a file that the manifest or the checkpoint's state names is missing or
/// has a different size. Contents are not read, because an archive may be large. Throws ConfigError
/// if the archive holds training steps beyond train.steps, which belong to a newer checkpoint that
/// is damaged or gone.
void check_archive(const RunConfig& config, const CoordinatorState& state);

/// Throws StorageError if a run without a checkpoint has packed steps, because the checkpoint that
/// preceded them is gone.
void require_checkpoint_of_archive(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
