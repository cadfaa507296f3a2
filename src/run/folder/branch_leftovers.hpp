// Leftovers of a branch that ended before it had begun: copies of its parent's files in a folder
// without a config.toml.
#pragma once

#include <filesystem>

namespace rollcall::run {

/// The part of a branch's folder that holds files of its parent.
inline constexpr const char* kParentFolder = "parent";

/// Whether the folder holds only such leftovers: RUN/parent.json or RUN/parent without a
/// config.toml, no rollouts, and no checkpoint but the one that it branches from.
bool is_unfinished_branch(const std::filesystem::path& run_dir);

/// Removes such leftovers, so that the same branch or another run can begin there. Does nothing in
/// other folders. Throws StorageError.
void remove_unfinished_branch(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
