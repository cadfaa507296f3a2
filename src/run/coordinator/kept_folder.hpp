// Checks that the folder of a run still has what the run needs: its lock, and the rollouts that it
// has drawn.
#pragma once

#include "base/process/uninterrupted.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::run {

/// The file RUN/.lock that this job has locked. It is held open, so that it is noticed if another
/// file takes its place.
class LockFile {
 public:
  /// To be constructed right after the lock was taken. Throws like require_own().
  explicit LockFile(const std::filesystem::path& run_dir);
  /// Throws StorageError when the name is gone or belongs to another file, which another job could
  /// have locked.
  void require_own() const;

 private:
  void require_own(bool is_own) const;

  std::filesystem::path path_;
  Descriptor file_;
};

/// Number of rollouts that earlier starts drew and that are gone now, which is logged: a repair has
/// set them aside, or somebody has removed them. `uncounted`: rollouts in the archive that are not
/// in the state's total.
std::uint64_t rollouts_missing(const std::filesystem::path& run_dir, const CoordinatorState& state,
                               std::uint64_t uncounted);

/// Throws StorageError where more than the `missing` rollouts are gone.
void require_kept_rollouts(const std::filesystem::path& run_dir, const CoordinatorState& state,
                           std::uint64_t missing);

}  // namespace rollcall::run
