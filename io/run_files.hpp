// Classifies the HDF5 files of a run folder, and sets aside those that must not be read.
#pragma once

#include "io/verify.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

enum class FileState : std::uint8_t {
  shard,      ///< published, and its step is in no archive file
  replaced,   ///< its step is in an archive file; the next start removes it, or sets it aside if
              ///< its bytes differ
  partial,    ///< never published
  unlisted,   ///< an archive file that the manifest does not name
  set_aside,  ///< its step was drawn again
};
std::string text_of(FileState state);

struct RunFile {
  std::string path;  ///< relative to the run folder
  FileState state = FileState::shard;
  std::uint64_t bytes = 0;
};

struct RunFiles {
  std::vector<ArchiveEntry> packed;  ///< the files that the manifest names, whether or not they
                                     ///< exist
  std::vector<RunFile> others;  ///< other files in archive/, then shards, then files that were set
                                ///< aside, each in order of their names
};
/// The files at the time when the manifest was read. While a run packs, a step may be packed, still
/// in shards, or both; some of these shards may be gone by now.
RunFiles list_files(const std::filesystem::path& run_dir);

struct Rows {
  std::uint64_t groups = 0, rollouts = 0;
};
/// Counts rows, using only the shapes of the columns. Empty if the file cannot be opened.
std::optional<Rows> count_rows(const std::filesystem::path& file);

/// Makes run_dir/set_aside/<n>/ with a new n and returns it, relative to the run folder. Throws
/// StorageError.
std::string new_set_aside(const std::filesystem::path& run_dir);
/// Moves files or folders to `folder`, which new_set_aside() made. Throws StorageError.
void move_to(const std::filesystem::path& run_dir, const std::vector<std::string>& paths,
             const std::string& folder);

/// Writes a new manifest from the archive files themselves, when the manifest is missing or cannot
/// be read. The old one is kept as `copy` (relative). The new one lists every file that is
/// undamaged according to its own checksums, has the run's `seed` if that is known, and holds steps
/// that no earlier file (by purpose and steps) holds. Returns the damaged files. Missing files
/// cannot be noticed. Throws EnvironmentError if a newer program wrote one of the files.
std::vector<Fault> rebuild_manifest(const std::filesystem::path& run_dir,
                                    std::optional<std::uint64_t> seed, const std::string& copy);

/// Removes archive files from the manifest and adds other, undamaged ones. The old manifest is kept
/// as `copy` (relative). Shards that a removed file had replaced are valid again if they still
/// exist. Does nothing when there is nothing to change.
void amend(const std::filesystem::path& run_dir, const std::vector<std::string>& withdrawn,
           const std::vector<ArchiveEntry>& readmitted, const std::string& copy);
/// This archive file's entries in the manifests that earlier repairs have kept.
std::vector<ArchiveEntry> entries_before(const std::filesystem::path& run_dir,
                                         const std::string& path);

}  // namespace rollcall::io
