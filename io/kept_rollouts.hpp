// How many rollouts a run folder holds.
#pragma once

#include <cstdint>
#include <filesystem>

namespace rollcall::io {

/// Sampled ones, so not those of the purpose `greedy`: what the manifest says of packed files, and
/// the shapes of shards that are not
/// packed. Reads no values. Throws StorageError for a damaged manifest.
std::uint64_t kept_rollouts(const std::filesystem::path& run_dir);

}  // namespace rollcall::io
