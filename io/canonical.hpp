// Scored groups in the order of the archive, and their digest. Neither depends on how the groups
// are divided among files and ranks. Private to io.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// Appends the groups of a shard with their scores. `component_names` is set by the first shard and
/// must be the same in all. Throws StorageError.
void append_scored(const std::filesystem::path& run_dir, const PackInput& input,
                   std::vector<ArchivedGroup>& groups, std::vector<std::string>& component_names);

/// Sorts groups by (purpose, step, prompt, draw), joins the fragments of a group and orders its
/// rollouts by sample. Throws StorageError when fragments contradict each other or a sample occurs
/// twice.
std::vector<ArchivedGroup> canonical(std::vector<ArchivedGroup> groups);

/// SHA-256 over every value of a group in canonical order (io/README.md lists the bytes).
std::string group_digest(const ArchivedGroup& group,
                         const std::vector<std::string>& component_names);

}  // namespace rollcall::io
