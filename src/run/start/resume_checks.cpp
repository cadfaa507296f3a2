// Reads the settings and the steps of the newest checkpoint, and nothing that they name; of the
// archive it compares sizes, and reads the steps in the manifest.
#include "run/start/resume_checks.hpp"

#include "base/errors/error.hpp"
#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "io/verify.hpp"
#include "run/folder/recorded_settings.hpp"
#include "run/messages/purposes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {
namespace {

/// Training steps that the newest sound checkpoint has done. A damaged one is named where the
/// checkpoint is read as a whole.
std::int64_t steps_done(const std::string& run_dir) {
  std::vector<std::string> damaged;
  auto names = io::list_checkpoints(run_dir, &damaged);
  for (; !names.empty(); names.pop_back()) {
    try {
      return state_of(io::StoredCheckpoint(run_dir, names.back())).train_steps;
    } catch (const StorageError&) {
      continue;
    }
  }
  return 0;
}

}  // namespace

void take_recorded(RunConfig& config, Faults& faults) {
  const auto recorded = recorded_settings(config.run.dir);
  if (!recorded) return;
  if (!faults.check({}, [&] { config = as_begun(config, *recorded); })) return;
  const std::int64_t done = steps_done(config.run.dir);
  faults.check({"train.steps"}, [&] { check_steps(config, done); });
  faults.check({}, [&] { check_same_settings(with_recorded_texts(config, *recorded), *recorded); });
}

void check_archive(const RunConfig& config, const CoordinatorState& state) {
  const std::filesystem::path dir = config.run.dir;
  const auto packed = io::read_manifest(dir);
  std::uint64_t last = 0;
  for (const io::ArchiveEntry& entry : packed) {
    io::require_size(dir, entry.file);
    if (entry.purpose == purpose_name(Purpose::train)) last = std::max(last, entry.last_step);
  }
  for (const UnpackedFile& file : state.unpacked) {
    if (io::any_holds(packed, file.purpose, file.step)) continue;  // its shards may be gone
    io::require_size(dir, file.files.shard);
    io::require_size(dir, file.files.scores);
  }
  check_steps(config, std::int64_t(last));
}

void require_checkpoint_of_archive(const std::filesystem::path& run_dir) {
  const auto packed = io::read_manifest(run_dir);
  std::uint64_t rollouts = 0;
  for (const io::ArchiveEntry& entry : packed) rollouts += entry.rollouts;
  require<StorageError>(
      packed.empty(),
      fmt::format("run.dir {} holds no checkpoint, but {} rollouts in {} archive files",
                  run_dir.string(), rollouts, packed.size()),
      "steps are packed after their checkpoint, so checkpoints were removed, and a run from step 0 "
      "would mix with these rollouts",
      "restore checkpoints/ from a copy, or start a new run with --set run.dir=...");
}

}  // namespace rollcall::run
