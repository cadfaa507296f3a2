// Where rollouts are read from: a run folder, also while the run writes, or one file of a run,
// wherever it was copied.
#pragma once

#include "io/archive.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// What a source holds at one moment.
struct Source {
  std::filesystem::path root{};        ///< paths are relative to it
  bool is_run = true;                  ///< false: one file
  std::vector<ArchiveEntry> packed{};  ///< ascending by purpose and first step
  std::vector<std::string> loose{};  ///< shards with scores of steps that no archive file holds, in
                                     ///< order of their names
  std::vector<std::string> unscored{};  ///< shards of such steps without scores
  std::vector<std::string> training{};  ///< what such steps trained on, where that was recorded
};

/// Of the files a walk over these purposes would read: 16 hexadecimal digits that differ when a
/// file is another, or is packed. Reads the loose shards.
std::string digest_of(const Source& source, const std::vector<Purpose>& purposes);

bool is_run_folder(const std::filesystem::path& path);
/// Throws InputError when the path is neither, StorageError for a damaged manifest.
Source open_source(const std::filesystem::path& run_or_file);

/// Where the scores of a shard are, by its path: in a file beside it, or in the same one.
std::string scores_path(const std::string& shard_path);
std::vector<std::string> files_of_shard(const std::string& shard_path);  ///< one or two

struct Selection {
  std::optional<Purpose> purpose = {};
  std::uint64_t first_step = 0, last_step = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> prompt = {};
};
/// Throws InputError naming the nearest when there is none of this name.
Purpose purpose_from_text(const std::string& text);

/// Returns false to end the walk.
using Visit = std::function<bool(const ArchivedGroup& group,
                                 const std::vector<std::string>& component_names)>;
/// Visits the scored groups in ascending (purpose, step, prompt, draw). Holds one file in memory. A
/// file that goes while a run packs is found again in the archive. Throws StorageError naming a
/// damaged file, InputError as open_source does.
void each_group(const std::filesystem::path& run_or_file, const Selection& selection,
                const Visit& visit);

/// The line of an archive file that no manifest speaks of, from the file itself. Throws
/// StorageError.
ArchiveEntry describe(const std::filesystem::path& root, const std::string& path);

/// What a file says of the run that wrote it. Throws StorageError.
RunIdentity identity_of(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
