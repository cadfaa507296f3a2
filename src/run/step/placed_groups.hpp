// Where derived groups train: their rollouts move into the groups that they were made of.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstddef>

namespace rollcall::run {

/// Moves rollouts as Group::from says, once undecided verdicts are settled and the scheduler's
/// decision is in the batch. A derived group goes where its parent is in the batch; otherwise it
/// trains as a group of its own, so that nothing is lost where a parent left the step. Rollouts
/// that GroupTraining::keep marks with kLeaves leave the batch, and so do groups of trains_nowhere
/// and groups that keep no rollout. Returns how many rollouts moved. A batch without derived groups
/// is not touched.
std::size_t place_derived(StepBatch& batch);

/// In GroupTraining::keep, beside 0 (counts in the statistics of its group) and 1 (trains): the
/// rollout counts nowhere.
inline constexpr std::uint8_t kLeaves = 2;

}  // namespace rollcall::run
