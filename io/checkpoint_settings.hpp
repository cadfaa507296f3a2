// The settings of the run in the manifest of a checkpoint: what its weights were made with, however
// config.toml is changed later.
#pragma once

#include "io/checkpoint.hpp"

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace rollcall::io {

/// end_checkpoint() with the text of the settings, which the manifest holds and its checksum
/// covers. Empty: none.
void end_checkpoint(const std::filesystem::path& run_dir, const std::string& name,
                    const CheckpointFacts& files, const std::string& settings);

/// The text in the manifest of a checkpoint folder; empty where an earlier build wrote it. Throws
/// StorageError naming a damaged manifest.
std::string settings_of_checkpoint(const std::filesystem::path& checkpoint);

/// The checkpoint as one of another run, under its name: its files are linked (or copied where the
/// file system has no links) but for those that are `replaced` by other bytes or `left_out`. Every
/// file is compared with the manifest first. Throws StorageError.
void branch_checkpoint(const StoredCheckpoint& from, const std::filesystem::path& run_dir,
                       const std::map<std::string, std::string>& replaced,
                       const std::set<std::string>& left_out, const std::string& settings);

}  // namespace rollcall::io
