// archive/manifest.json: the list that makes packed files valid, and the shards that the latest of
// them replaces. Private to io.
#pragma once

#include "io/archive.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

struct Manifest {
  std::vector<ArchiveEntry> files;      ///< in the order in which they were packed
  std::vector<PublishedFile> replaced;  ///< shards and scores that the last of `files` holds; they
                                        ///< are removed from shards/ at the next opportunity
};

/// Reads the manifest of a run; empty when there is no file. Throws StorageError naming what is
/// wrong with it.
Manifest load_manifest(const std::filesystem::path& run_dir);
/// Reads an existing manifest at any path.
Manifest parse_manifest(const std::filesystem::path& file);
void save_manifest(const std::filesystem::path& run_dir, const Manifest& manifest);

std::string entry_text(const ArchiveEntry& entry);  ///< as JSON, for the other ranks
ArchiveEntry entry_from_text(const std::string& text);

/// Removes shards that the manifest names as replaced. Throws StorageError.
void remove_files(const std::filesystem::path& run_dir, const std::vector<PublishedFile>& files);
/// Removes the replaced shards that still have the bytes that were packed; returns the number of
/// files.
int remove_replaced(const std::filesystem::path& run_dir, const Manifest& manifest);

}  // namespace rollcall::io
