// The number of rollouts that a run folder holds.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Counts sampled rollouts, so not those of the purpose `greedy`, by the manifest for packed files
/// and by the shapes of columns for shards that are not packed. It reads no values. Throws
/// StorageError for a damaged manifest.
std::uint64_t kept_rollouts(const std::filesystem::path& run_dir);

}  // namespace rollcall::io
