// How much of the training is done. A run ends after train.steps steps or train.rollouts rollouts,
// whichever comes first.
#pragma once

#include "core/run_config.hpp"
#include "run/checkpoint/coordinator_state.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::run {

class TrainingCourse {
 public:
  explicit TrainingCourse(const RunConfig& config) : config_(&config) {}
  /// Counts the rollouts of the archive that the run trains from, if it does and train.rollouts
  /// limits them. To be called before the other functions. Throws StorageError.
  void count_archived();

  /// Share of the training that is done: of its steps or of its rollouts, whichever is larger. 1 or
  /// more: all of it is done.
  double progress(const CoordinatorState& state) const;
  /// The steps that the run will have had at its end if the remaining steps draw as many rollouts
  /// on average as those up to `step`. Learning rates end there.
  double expected_steps(const CoordinatorState& state, std::int64_t step) const;

 private:
  std::int64_t rollouts_up_to(const CoordinatorState& state, std::int64_t steps) const;

  const RunConfig* config_;
  std::vector<std::int64_t> archived_rollouts_;  ///< [archived steps]; empty where they are not
                                                 ///< counted
};

}  // namespace rollcall::run
