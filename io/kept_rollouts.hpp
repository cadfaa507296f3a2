// The number of rollouts that a run folder holds.
#pragma once

#include "io/shard_file.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>

namespace rollcall::io {

/// Counts sampled rollouts, which excludes those with the purpose `greedy`. The counts come from
/// the manifest for packed files, and from the shapes of columns for unpacked shards. It reads no
/// values. Throws StorageError for a damaged manifest.
std::uint64_t kept_rollouts(const std::filesystem::path& run_dir);

/// Rollouts by the purpose and step of their groups.
using RolloutsOfSteps = std::map<std::pair<Purpose, std::uint64_t>, std::uint64_t>;

/// Counts the sampled rollouts in archive files for the steps from `first` on. It reads columns
/// only from files that hold several steps. Throws StorageError naming a damaged file or manifest.
RolloutsOfSteps packed_rollouts(const std::filesystem::path& run_dir, std::uint64_t first);

}  // namespace rollcall::io
