// The run's settings in a checkpoint's manifest. They are the settings that produced its weights,
// even if config.toml is changed later.
#pragma once

#include "io/checkpoint.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace rollcall::io {

/// Like end_checkpoint(), but stores the text of the settings in the manifest, covered by its
/// checksum. If the text is empty, there are no settings.
void end_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                    const CheckpointFacts& files, const std::string& settings);

/// The text of the settings in the manifest of a checkpoint folder; empty if an earlier build wrote
/// it. Throws StorageError naming a damaged manifest.
std::string settings_of_checkpoint(const std::filesystem::path& checkpoint);

/// Creates the same checkpoint in another run, under the same name. Its files are linked, or copied
/// if the file system has no links, except those that are `replaced` by other bytes or `left_out`.
/// Every file is compared with the manifest before it is linked. Throws StorageError.
void branch_checkpoint(const StoredCheckpoint& from, const std::filesystem::path& run_dir,
                       const std::map<std::string, std::string>& replaced,
                       const std::set<std::string>& left_out, const std::string& settings);

}  // namespace rollcall::io
