// The scheduler's files in a checkpoint: a head, the prompts' contents, and rows by prompt as a
// base and what has changed since.
#pragma once

#include "io/checkpoint.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

// scheduler.json         the head, written whole by each checkpoint. It is small, unless pieces of
//                        the scheduler remember prompts themselves.
// scheduler.prompts      64-bit content hashes of the training prompts, written once
// scheduler-000001.rows  the base: rows of all prompts that were known then
//                        (scheduling/prompts/prompt_rows.hpp)
// scheduler-000002.rows  rows of the prompts that changed up to the next checkpoint, and so on.
//                        Later checkpoints link these files.

/// Remembers which files of rows the previous checkpoint has, so that the next one writes only rows
/// that have changed. When the changes are as large as the base, or in many files, a new base
/// replaces them. The cost of a checkpoint is on average a small multiple of what changed.
class SchedulerFiles {
 public:
  /// Adds the scheduler's files to rank 0's share of the next checkpoint. `share.earlier` names the
  /// checkpoint that the previous call was for.
  void add_to(io::CheckpointShare& share, scheduling::Scheduler& policy);
  /// Reads the scheduler back. Throws StorageError.
  scheduling::LoadReport load(scheduling::Scheduler& policy,
                              const io::StoredCheckpoint& checkpoint);
  static bool are_in(const io::StoredCheckpoint& checkpoint);

 private:
  bool base_due() const;
  std::vector<std::uint64_t> rows_;  ///< [files] number of rows in each, the base first; empty: the
                                     ///< next checkpoint writes a new base
};

}  // namespace rollcall::run
