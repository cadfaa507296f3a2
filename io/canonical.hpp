// Scored groups in the archive's one order, and their digest: the same whatever files and ranks
// they passed through. Private to io.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// The groups of a shard with their scores. `component_names` is set by the first shard and must be
/// the same in all. Throws StorageError.
void append_scored(const std::filesystem::path& run_dir, const PackInput& input,
                   std::vector<ArchivedGroup>& groups, std::vector<std::string>& component_names);

/// Sorts by (purpose, step, prompt, draw), joins fragments of one group, orders its rollouts by
/// sample.
/// Throws StorageError when fragments contradict each other or a sample is there twice.
std::vector<ArchivedGroup> canonical(std::vector<ArchivedGroup> groups);

/// SHA-256 over every value of a group in canonical order (io/README.md spells the bytes out).
std::string group_digest(const ArchivedGroup& group,
                         const std::vector<std::string>& component_names);

}  // namespace rollcall::io
