// The archive of a run as rank 0 keeps it: which shards are packed and when, which archive files
// give way to newer ones, and whether all rollouts of the run are still there.
#pragma once

#include "io/kept_rollouts.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/inbox.hpp"
#include "run/coordinator/run_records.hpp"
#include "run/messages/mailbox.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace rollcall::run {

struct RunContext;

class RunArchive {
 public:
  RunArchive(const RunContext& context, Mailbox& mail, Inbox& inbox, CoordinatorState& state,
             const RunRecords& records)
      : context_(&context), mail_(&mail), inbox_(&inbox), state_(&state), records_(&records) {}

  /// At the start of a run that resumes: lets archive files give way to evaluations that were made
  /// again, finds the steps in the archive that the checkpoint does not count yet, and counts the
  /// rollouts of earlier starts that are gone. Throws StorageError.
  void resume();
  /// Takes note that the rollouts of this purpose and of the current train step were drawn and
  /// counted, also those that the archive holds already.
  void drew(Purpose purpose);
  /// Counts evaluations in the archive that this start has passed without making them again. They
  /// belong to the run. If the newest checkpoint was damaged, a start continues from an older one,
  /// which does not know about an evaluation that followed it.
  void count_passed();

  /// Rollouts of an evaluation at the current train step that the archive holds and the total
  /// counts, although the state has no outcomes of it; 0 if there is none.
  std::uint64_t counted_before() const;
  /// Takes note that a durable checkpoint covers `files`, up to train step `steps`.
  void cover(std::vector<UnpackedFile> files, std::int64_t steps);
  /// Packs the covered files once archive.pack_every steps are covered and not packed. Only covered
  /// files may be packed, so that a resumed run never draws an archived step again.
  void pack_when_due();
  /// Packs those of `files` that still wait for the archive. The scoring ranks do it together, and
  /// rank 0 waits for them. Throws StorageError.
  void pack(std::vector<UnpackedFile> files);

  /// Seconds that the run waited for packing since the last call of this function.
  double take_waited_s() { return std::exchange(waited_s_, 0.0); }

  /// At the end of a run: throws StorageError where rollouts have gone since this start. Returns
  /// the number of rollouts of earlier starts that were gone at this one.
  std::uint64_t require_rollouts();

 private:
  void replace_archived();
  void forget_archived();
  void find_uncounted();

  const RunContext* context_;
  Mailbox* mail_;
  Inbox* inbox_;
  CoordinatorState* state_;
  const RunRecords* records_;
  std::vector<UnpackedFile> covered_;  ///< files that the newest durable checkpoint covers and that
                                       ///< are not packed yet
  std::int64_t covered_steps_ = 0;     ///< train steps that the newest durable checkpoint covers
  io::RolloutsOfSteps uncounted_;      ///< rollouts that are in the archive and not yet in the
                                       ///< state's total
  std::optional<io::RolloutsOfSteps::value_type> counted_{};  ///< see counted_before()
  std::uint64_t missing_ = 0;  ///< rollouts of earlier starts that were gone at this one
  double waited_s_ = 0.0;
};

}  // namespace rollcall::run
