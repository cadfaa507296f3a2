// Computes the shares of steps and of rollouts that are done.
#include "run/coordinator/steps/training_course.hpp"

#include "run/step/archived_steps.hpp"

#include <algorithm>
#include <cstddef>

namespace rollcall::run {

void TrainingCourse::count_archived() {
  if (config_->train.rollouts > 0) archived_rollouts_ = archived_rollouts(*config_);
}

double TrainingCourse::progress(const CoordinatorState& state) const {
  const auto& train = config_->train;
  const double steps = train.steps > 0 ? double(state.train_steps) / double(train.steps) : 1.0;
  if (train.rollouts == 0) return steps;
  return std::max(steps, double(rollouts_up_to(state, state.train_steps)) / double(train.rollouts));
}

/// Number of rollouts: of the first `steps` training steps if they come from an archive, else of
/// all training steps that are done or have stored rollouts.
std::int64_t TrainingCourse::rollouts_up_to(const CoordinatorState& state,
                                            std::int64_t steps) const {
  std::int64_t rollouts = 0;
  if (config_->train.from_archive.empty()) {
    for (const auto& [level, count] : state.rollouts_per_level) rollouts += count;
  } else {
    for (std::int64_t step = 0; step < steps; ++step)
      rollouts += archived_rollouts_[std::size_t(step) % archived_rollouts_.size()];
  }
  return rollouts;
}

double TrainingCourse::expected_steps(const CoordinatorState& state, std::int64_t step) const {
  const auto& train = config_->train;
  if (train.rollouts == 0) return double(train.steps);
  return std::min(double(train.steps),
                  double(step) * double(train.rollouts) /
                      double(std::max<std::int64_t>(rollouts_up_to(state, step), 1)));
}

}  // namespace rollcall::run
