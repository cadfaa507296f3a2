// What a run must still find in its folder while it runs: its lock, and the rollouts that it drew.
#pragma once

#include "stages/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::stages {

/// Throws StorageError when RUN/.lock is no longer the file that this job holds: another job could
/// have taken the new one.
void require_own_lock(const std::filesystem::path& run_dir);

/// Rollouts that earlier starts drew and that are gone by now, which is said: a repair set them
/// aside, or somebody removed them.
std::uint64_t rollouts_missing(const std::filesystem::path& run_dir, const CoordinatorState& state);

/// Throws StorageError where others have gone since the start.
void require_kept_rollouts(const std::filesystem::path& run_dir, const CoordinatorState& state, std::uint64_t missing);

}  // namespace rollcall::stages
