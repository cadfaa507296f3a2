// Reads rollouts from a run folder, even while the run is writing it, or from a single file of a
// run, which may have been copied anywhere.
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

/// The files of a source at one moment.
struct Source {
  std::filesystem::path root{};         ///< the folder that paths are relative to
  bool is_run = true;                   ///< whether it is a run folder, and not one file
  std::vector<ArchiveEntry> packed{};   ///< ascending by purpose and first step
  std::vector<std::string> loose{};     ///< shards with scores, from steps that no archive file
                                        ///< holds, ordered by name
  std::vector<std::string> unscored{};  ///< shards without scores, from steps that are not packed
  std::vector<std::string> training{};  ///< training files of steps that are not packed
};

/// A fingerprint of the files that a walk over these purposes would read. Its 16 hexadecimal digits
/// change when a file is replaced or packed. Computing it reads the loose shards.
std::string digest_of(const Source& source, const std::vector<Purpose>& purposes);

bool is_run_folder(const std::filesystem::path& path);
/// Throws InputError when the path is neither a run folder nor a file, StorageError for a damaged
/// manifest.
Source open_source(const std::filesystem::path& run_or_file);

/// The path of the scores of a shard: a file beside it, or the same file.
std::string scores_path(const std::string& shard_path);
/// The file of a shard and, if its scores have their own file, that one as well.
std::vector<std::string> files_of_shard(const std::string& shard_path);

struct Selection {
  std::optional<Purpose> purpose = {};
  std::uint64_t first_step = 0, last_step = std::numeric_limits<std::uint64_t>::max();
  std::optional<std::uint64_t> prompt = {};
};
/// Throws InputError, naming the nearest purpose, when there is no purpose of this name.
Purpose purpose_from_text(const std::string& text);

/// A visitor returns false to end the walk.
using Visit = std::function<bool(const ArchivedGroup& group,
                                 const std::vector<std::string>& component_names)>;
/// Visits the scored groups in ascending order of (purpose, step, prompt, draw). It holds one file
/// in memory. When a file disappears because the run packs it, the walk continues in the archive.
/// Throws StorageError naming a damaged file, InputError as open_source does.
void each_group(const std::filesystem::path& run_or_file, const Selection& selection,
                const Visit& visit);

/// The manifest entry for an archive file that is in no manifest, read from the file itself. Throws
/// StorageError.
ArchiveEntry describe(const std::filesystem::path& root, const std::string& path);

/// The facts about the run that a file has as attributes. Throws StorageError.
RunIdentity identity_of(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
