// What a run must still find in its folder while it runs: its lock, and the rollouts that it drew.
#pragma once

#include "base/uninterrupted.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <filesystem>

namespace rollcall::run {

/// RUN/.lock as this job has locked it, held open so that no other file can take its place unseen.
class LockFile {
 public:
  /// Right after the lock was taken.
  explicit LockFile(const std::filesystem::path& run_dir);
  /// Throws StorageError when the name is gone or is another file's: another job could have locked
  /// that one.
  void require_own() const;

 private:
  void require_own(bool is_own) const;

  std::filesystem::path path_;
  Descriptor file_;
};

/// Rollouts that earlier starts drew and that are gone by now, which is said: a repair set them
/// aside, or somebody removed them.
std::uint64_t rollouts_missing(const std::filesystem::path& run_dir, const CoordinatorState& state);

/// Throws StorageError where others have gone since the start.
void require_kept_rollouts(const std::filesystem::path& run_dir, const CoordinatorState& state,
                           std::uint64_t missing);

}  // namespace rollcall::run
