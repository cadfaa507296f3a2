// The scheduler's files in a checkpoint: a head, the prompts' contents, and rows by prompt as a
// base and what has changed since.
#pragma once

#include "io/checkpoint.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

// scheduler.json           the head, written whole: small but for policies whose own pieces
// remember prompts
// scheduler.prompts        64-bit content hashes of the training prompts, written once
// scheduler-000001.rows    the base: rows of all prompts known then
// (scheduling/prompts/prompt_rows.hpp)
// scheduler-000002.rows    rows of the prompts that changed up to the next checkpoint, and so on;
// taken over by later checkpoints as links

/// Remembers which row files the checkpoint before has, so that the next one writes only what has
/// changed. When the changes weigh as much as the base, or are many, a new base takes their place:
/// a checkpoint costs, on average, a small multiple of what changed.
class SchedulerFiles {
 public:
  /// What the next checkpoint holds of the scheduler; `share.earlier` names the checkpoint that the
  /// call before was for.
  void add_to(io::CheckpointShare& share, scheduling::Scheduler& policy);
  /// throws StorageError
  scheduling::LoadReport load(scheduling::Scheduler& policy,
                              const io::StoredCheckpoint& checkpoint);
  static bool are_in(const io::StoredCheckpoint& checkpoint);

 private:
  bool base_due() const;
  std::vector<std::uint64_t> rows_;  // [row files] how many rows each holds, base first; empty: the
                                     // next checkpoint begins anew
};

}  // namespace rollcall::run
