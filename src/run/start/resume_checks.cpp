// Reads the settings and the steps of the newest checkpoint, and nothing that they name.
#include "run/start/resume_checks.hpp"

#include "base/errors/error.hpp"
#include "io/checkpoint.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/folder/recorded_settings.hpp"

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

}  // namespace rollcall::run
