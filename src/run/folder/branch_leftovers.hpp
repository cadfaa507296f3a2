// What a branch leaves in its folder when it ends before it has begun: copies of its parent's
// files, and no config.toml.
#pragma once

#include <filesystem>

namespace rollcall::run {

/// The part of a branch's folder that holds files of its parent.
inline constexpr const char* kParentFolder = "parent";

/// Whether a branch was begun in the folder and not ended, so that nothing in it is of its own:
/// RUN/parent.json or RUN/parent without a config.toml, no rollouts, and no checkpoint but the one
/// that it branches from.
bool is_unfinished_branch(const std::filesystem::path& run_dir);

/// Removes that, so that the same branch or another run can begin there. Does nothing elsewhere.
/// Throws StorageError.
void remove_unfinished_branch(const std::filesystem::path& run_dir);

}  // namespace rollcall::run
