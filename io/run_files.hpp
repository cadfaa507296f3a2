// The HDF5 files of a run folder by what is known of them, and the moving aside of those that must
// not be read.
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
  replaced,   ///< of a step that an archive file holds; the next start removes it, or sets it aside
              ///< when it has other bytes
  partial,    ///< never published
  unlisted,   ///< an archive file that the manifest does not name
  set_aside,  ///< of a step that was drawn again
};
std::string text_of(FileState state);

struct RunFile {
  std::string path;  ///< relative to the run folder
  FileState state = FileState::shard;
  std::uint64_t bytes = 0;
};

struct RunFiles {
  std::vector<ArchiveEntry> packed;  ///< what the manifest names, there or not
  std::vector<RunFile> others;  ///< those in archive/, then shards, then what was set aside, each
                                ///< in order of their names
};
/// As when the manifest was read: while a run packs, a step is packed or has its shards, never
/// neither. Some of those may have gone since.
RunFiles list_files(const std::filesystem::path& run_dir);

struct Rows {
  std::uint64_t groups = 0, rollouts = 0;
};
/// By the shapes of its columns alone; nothing when it cannot be opened.
std::optional<Rows> count_rows(const std::filesystem::path& file);

/// Makes run_dir/set_aside/<n>/ with a new n and returns it, relative to the run folder. Throws
/// StorageError.
std::string new_set_aside(const std::filesystem::path& run_dir);
/// Moves files or folders there. Throws StorageError.
void move_to(const std::filesystem::path& run_dir, const std::vector<std::string>& paths,
             const std::string& folder);

/// Writes a manifest anew from the archive files themselves, in place of one that is missing or
/// cannot be read, which is kept as `copy` (relative). Takes in every file that is whole by its own
/// checksums, has the run's `seed` if that is known, and holds steps that no file before it (by
/// purpose and steps) holds; returns those that are not whole. A file that is missing altogether is
/// not missed. Throws EnvironmentError when a newer program wrote one.
std::vector<Fault> rebuild_manifest(const std::filesystem::path& run_dir,
                                    std::optional<std::uint64_t> seed, const std::string& copy);

/// Takes archive files out of the manifest and names others in it that are whole; the manifest as
/// it was is kept as `copy` (relative). Shards that a withdrawn file had replaced count again,
/// where they still are. Does nothing when there is nothing to change.
void amend(const std::filesystem::path& run_dir, const std::vector<std::string>& withdrawn,
           const std::vector<ArchiveEntry>& readmitted, const std::string& copy);
/// What the manifests that earlier repairs kept say of this archive file.
std::vector<ArchiveEntry> entries_before(const std::filesystem::path& run_dir,
                                         const std::string& path);

}  // namespace rollcall::io
