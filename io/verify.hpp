// What is wrong with a file: against what was published of it, and by its own checksums, column by
// column.
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
    newer,      ///< nothing is wrong with it: a newer program wrote it
    unreadable  ///< nothing is known of it: the file system does not let it be read
  };
  std::string file;     ///< relative to the run folder
  std::string problem;  ///< names the column and the bytes in it, where that can be told
  Kind kind = Kind::damage;
};

/// `published`: what the manifest or a checkpoint says of the file. Without it, only what the file
/// says of itself is checked. Empty: nothing is wrong.
std::vector<Fault> verify_shard(const std::filesystem::path& run_dir, const std::string& path,
                                const std::optional<PublishedFile>& published);
std::vector<Fault> verify_archive(const std::filesystem::path& run_dir, const ArchiveEntry& entry);

/// Size and checksum alone: what is wrong with them, if anything.
std::optional<Fault> unlike_published(const std::filesystem::path& run_dir,
                                      const PublishedFile& file);

/// Every column that is not what its checksums say, read without HDF5's blocks of variable-length
/// values, which have no checksum of their own. Throws UnreadableError.
std::vector<std::string> damaged_columns(const std::filesystem::path& path);

}  // namespace rollcall::io
