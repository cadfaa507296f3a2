// The state of a run as one list. It says which files a checkpoint holds, which rank writes each of
// them, and in what order they are read back.
#pragma once

#include "io/checkpoint.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// A part of a run's state. Parts are restored in the order of these names. Rank 0's state gives
/// the version of the weights, the optimizer of a device takes the weights that were read before
/// it, and the scheduler comes last, on rank 0 only.
enum class Part {
  coordinator,
  config,
  weights,
  moments,
  objective,
  reference,
  value_head,
  scheduler,
  scheduler_prompts,
  scheduler_rows
};

/// Which rank writes the files of a part.
enum class Writer {
  rank_zero,
  update_leader,
  second_update_rank,  ///< the leader where it is the only update rank
  every_update_rank    ///< each its own file, as far as its share is not empty
};

/// Which checkpoints have a part (part_check.hpp).
enum class Presence { always, with_reference, with_value_head, with_scheduler };

/// What a rollback does with a part. It restores weights, and keeps what rollouts have shown about
/// the prompts.
enum class OnRollback { restored, restored_in_part, kept };

/// What happens to a part of the parent's checkpoint in the checkpoint of a branch (`train
/// --from`).
enum class OnBranch { taken, rewritten, taken_if_understood };

struct PartRow {
  Part part{};
  const char* what = "";  ///< the part in words with their article, for messages
  const char* file = "";  ///< name of its file; ### is a number of at least as many digits as #
  int format = 0;         ///< the format number inside; 0: the file has none
  Writer writer{};
  Presence presence{};
  OnRollback on_rollback{};
  OnBranch on_branch{};
};

/// All parts, in the order in which they are restored.
std::span<const PartRow> part_rows();
const PartRow& row_of(Part part);

/// The name of a file of the part; `numbers` take the places of the runs of #, in order.
std::string file_of(Part part, std::span<const std::int64_t> numbers = {});

/// The number of numbers in the names of a part's files: 0, 1 or 2.
std::size_t numbers_of(Part part);

/// The numbers in `file` where it is a file of the part, otherwise nothing.
std::optional<std::vector<std::int64_t>> numbers_in(Part part, const std::string& file);

/// The number of these files that belong to the part.
std::int64_t count_files(const io::CheckpointFacts& files, Part part);

/// Whether rank `rank` of `ranks` update ranks writes files of the part.
bool is_written_by(Part part, int rank, int ranks);

}  // namespace rollcall::run
