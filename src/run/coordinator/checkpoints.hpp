// The checkpoints of a run as rank 0 sees them. A checkpoint is begun between two steps, written by
// all update ranks while the run continues, and completed by rank 0.
#pragma once

#include "io/checkpoint.hpp"
#include "run/checkpoint/background_task.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/checkpoint/part_check.hpp"
#include "run/checkpoint/scheduler_files.hpp"
#include "run/coordinator/inbox.hpp"
#include "run/messages/mailbox.hpp"
#include "scheduling/scheduler.hpp"
#include "watch/watcher.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Begins one checkpoint at a time. The state and the scheduler belong to the coordinator.
class Checkpoints {
 public:
  /// A checkpoint that is durable.
  struct Durable {
    std::vector<UnpackedFile> covered;  ///< files of steps up to it that wait for the archive
    std::int64_t steps = 0;             ///< train steps that were done when it was begun
    double seconds = 0.0;               ///< from its beginning until it was durable
  };
  using OnDurable = std::function<void(Durable durable)>;

  /// `on_durable` is called within finish() and notice(), once for each checkpoint.
  Checkpoints(const RunContext& context, Mailbox& mail, Inbox& inbox, CoordinatorState& state,
              scheduling::Scheduler& scheduler, OnDurable on_durable);
  Checkpoints(const Checkpoints&) = delete;
  Checkpoints& operator=(const Checkpoints&) = delete;

  /// Loads the scheduler from the checkpoint that the run resumes from. Nothing is loaded where a
  /// branch has another scheduler. Throws StorageError.
  std::optional<scheduling::LoadReport> resume(const io::StoredCheckpoint& checkpoint);

  /// Begins a checkpoint of the current state. The previous one must be durable, so call finish()
  /// first.
  void start(const std::string& name);
  /// Waits until the checkpoint begun last, if any, is durable. Throws what its writing threw, and
  /// StorageError after run.deadline_s.
  void finish();
  /// Does the same as finish() if that needs no wait, and otherwise nothing.
  void notice();

  /// Seconds since the last checkpoint was begun, or since the start of this process.
  double since_s() const { return since_.seconds(); }
  /// Seconds that the run waited for checkpoints since the last call of this function.
  double take_waited_s() { return std::exchange(waited_s_, 0.0); }
  /// The newest durable checkpoint. The next one takes unchanged files from it.
  struct Newest {
    std::string name{};           ///< name of the checkpoint; empty: there is none yet
    std::string policy_sha256{};  ///< empty: no checkpoint of this start is durable yet
  };
  const Newest& newest() const { return newest_; }

 private:
  /// A checkpoint between its beginning and the moment it is durable.
  struct Saving {
    std::string name;
    io::CheckpointShare own;    ///< the files that rank 0 writes
    PartNeeds needs{};          ///< what the checkpoint must hold
    std::size_t missing = 0;    ///< update ranks whose shares are not durable yet
    io::CheckpointFacts files;  ///< files of the update ranks that have reported so far
    std::string policy_sha256;  ///< from the first update rank
    std::vector<UnpackedFile> covered;
    std::vector<std::string> keep;  ///< older checkpoints that stay whatever their age
    std::int64_t steps = 0;
  };
  void on_saved(SaveReport report);
  void become_durable();

  const RunContext* context_;
  Mailbox* mail_;
  Inbox* inbox_;
  CoordinatorState* state_;
  scheduling::Scheduler* scheduler_;
  OnDurable on_durable_;
  SchedulerFiles scheduler_files_;
  std::optional<Saving> saving_;                ///< the checkpoint that is being written
  BackgroundTask<io::CheckpointFacts> ending_;  ///< writes rank 0's files and the manifest of that
                                                ///< checkpoint, and removes old checkpoints
  watch::WorkingTime since_;
  double waited_s_ = 0.0;
  Newest newest_;
};

}  // namespace rollcall::run
