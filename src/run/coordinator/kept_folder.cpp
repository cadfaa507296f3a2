// Compares the open lock file with the file that has its name now, and counts rollouts.
#include "run/coordinator/kept_folder.hpp"

#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "base/files/plain_file.hpp"
#include "io/kept_rollouts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::run {

LockFile::LockFile(const std::filesystem::path& run_dir)
    : path_(run_dir / ".lock"), file_(path_, kOpenToRead) {
  const bool held = FolderLock::is_held(run_dir);  // false: a different file has taken the name
                                                   // since the lock was taken
  require_own(held);
}

void LockFile::require_own() const { require_own(is_still(file_, path_)); }

void LockFile::require_own(bool is_own) const {
  require<StorageError>(
      is_own, fmt::format("{} was removed or replaced while the run held it", path_.string()),
      "another job could start in the same folder and neither would notice",
      "find out what cleans up there, then resume");
}

std::uint64_t rollouts_missing(const std::filesystem::path& run_dir, const CoordinatorState& state,
                               std::uint64_t uncounted) {
  const std::uint64_t kept = io::kept_rollouts(run_dir) - uncounted,
                      missing = state.rollouts_total - std::min(state.rollouts_total, kept);
  if (missing > 0)
    log_warning(
        "{} of the {} rollouts that the run drew before are not in its archive; it goes on without them",
        missing, state.rollouts_total);
  return missing;
}

void require_kept_rollouts(const std::filesystem::path& run_dir, const CoordinatorState& state,
                           std::uint64_t missing) {
  const std::uint64_t kept = io::kept_rollouts(run_dir),
                      wanted = state.rollouts_total - std::min(state.rollouts_total, missing);
  require<StorageError>(
      kept == wanted,
      fmt::format("the archive in {} holds {} rollouts where the run drew {}", run_dir.string(),
                  kept, wanted),
      "files were removed or added while it ran, so its result would speak of other rollouts",
      "restore archive/ and shards/ from a copy, then resume: the run is complete but for its result");
}

}  // namespace rollcall::run
