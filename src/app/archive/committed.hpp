// What the checkpoints of a run say of its shards: which of them a resume goes on with, and which
// it draws again.
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

/// A checkpoint and what it knows of the files.
struct Committed {
  std::string checkpoint;
  run::CoordinatorState state;
  std::map<std::string, io::PublishedFile> files{};  ///< shards and scores it has behind it, by
                                                     ///< path
};

/// How much of a checkpoint has to be whole: all that a resume needs, or the coordinator's state
/// alone, which is small.
enum class Depth : std::uint8_t { state, whole };
/// Of one checkpoint. Throws StorageError when it is damaged.
Committed read_committed(const std::filesystem::path& run_dir, const std::string& checkpoint,
                         Depth depth);
/// The newest that is whole; nothing when there is none. `faults` says what is wrong with newer
/// ones. Changes nothing, and works while the run goes on.
std::optional<Committed> newest_committed(const std::filesystem::path& run_dir, Depth depth,
                                          std::vector<std::string>& faults);

/// Whether an archive file holds the step of this shard.
bool is_packed(const std::vector<io::ArchiveEntry>& entries, const std::string& shard_path);

/// A stretch of steps of one purpose, both ends included.
struct Steps {
  Purpose purpose = Purpose::train;
  std::uint64_t first = 0, last = 0;
};
/// "train steps 5 to 6, train step 9, eval step 6"
std::string steps_text(std::vector<Steps> steps);

}  // namespace rollcall::app::archive
