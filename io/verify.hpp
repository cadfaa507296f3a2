// Finds the faults of a file, using the published size and checksum, and the file's own checksums
// of its columns.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

struct Fault {
  enum class Kind {
    damage,
    newer,      ///< nothing is wrong, but a newer program wrote the file
    unreadable  ///< the file system refuses to read the file, so nothing is known about it
  };
  std::string file;     ///< relative to the run folder
  std::string problem;  ///< names the column and the bytes in it, if they are known
  Kind kind = Kind::damage;
};

/// The faults of a file; empty if nothing is wrong. `published`: its entry in the manifest or in a
/// checkpoint. Without it, only the file's own checksums are checked.
std::vector<Fault> verify_shard(const std::filesystem::path& run_dir, const std::string& path,
                                const std::optional<PublishedFile>& published);
std::vector<Fault> verify_archive(const std::filesystem::path& run_dir, const ArchiveEntry& entry);

/// The fault of a file if its size or checksum differs from the published one. Empty if both match.
std::optional<Fault> unlike_published(const std::filesystem::path& run_dir,
                                      const PublishedFile& file);

/// Throws StorageError unless the file is there and has its published size. It is not opened.
void require_size(const std::filesystem::path& run_dir, const PublishedFile& file);

/// Every column that does not match its checksums. HDF5's blocks of variable-length values, which
/// have no checksum, are not read. Throws UnreadableError.
std::vector<std::string> damaged_columns(const std::filesystem::path& path);

}  // namespace rollcall::io
