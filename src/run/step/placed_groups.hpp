// Decides where derived groups train. Their rollouts move into the groups from which they were
// made.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>

namespace rollcall::run {

/// In GroupTraining::keep, beside 0 (counts in the statistics of its group) and 1 (trains): the
/// rollout counts nowhere.
inline constexpr std::uint8_t kLeaves = 2;

/// The prompt after which the rollouts of a derived prompt train in their parent's group. It is the
/// one that was asked, or the parent's.
enum class TrainedOn { asked, parent };
TrainedOn trained_on(const RunConfig& config);

/// Moves rollouts as Group::from says, once undecided verdicts are settled and the scheduler's
/// decision is in the batch. A derived group goes where its parent is in the batch; otherwise it
/// trains as a group of its own, so that nothing is lost if a parent left the step. Rollouts that
/// GroupTraining::keep marks with kLeaves leave the batch, and so do groups of trains_nowhere and
/// groups that keep no rollout; StepBatch::left names them. Returns how many rollouts moved. A
/// batch without derived groups is not touched.
///
/// With TrainedOn::parent the policy's turns of rollouts that move get the flag turn_flag::moved
/// and log-probs of 0, which AuxiliaryModels::add_missing_logprobs replaces. Tiers of help train
/// after the prompt that was asked.
std::size_t place_derived(StepBatch& batch, TrainedOn behind);

/// Whether the rollout trains after a prompt other than the one that was asked.
bool is_moved(const Rollout& rollout);

}  // namespace rollcall::run
