// Finds from the checkpoints of a run the shards that a resume keeps, and the shards that it
// samples again.
#pragma once

#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::app::archive {

/// A checkpoint and the files that it lists.
struct Committed {
  std::string checkpoint;
  run::CoordinatorState state;
  std::map<std::string, io::PublishedFile> files{};  ///< shards and scores up to the checkpoint, by
                                                     ///< path
};

/// The part of a checkpoint that must be undamaged: all that a resume needs, or only the
/// coordinator's state, which is small.
enum class Depth : std::uint8_t { state, whole };
/// Reads one checkpoint. Throws StorageError if it is damaged.
Committed read_committed(const std::filesystem::path& run_dir, const std::string& checkpoint,
                         Depth depth);
/// The newest undamaged checkpoint; nothing if there is none. Appends the problems of newer ones to
/// `faults`. Changes nothing, and may be called while the run continues.
std::optional<Committed> newest_committed(const std::filesystem::path& run_dir, Depth depth,
                                          std::vector<std::string>& faults);

/// Whether an archive file holds the step of this shard.
bool is_packed(const std::vector<io::ArchiveEntry>& entries, const std::string& shard_path);

/// A range of steps of one purpose, both ends included.
struct Steps {
  Purpose purpose = Purpose::train;
  std::uint64_t first = 0, last = 0;
};
/// The ranges as text, such as "train steps 5 to 6, train step 9, eval step 6".
std::string steps_text(std::vector<Steps> steps);

}  // namespace rollcall::app::archive
