// Measures how similar the changes are that the rollouts of a group would make to the policy, by
// the cosines between their gradients with respect to the hidden states that the head reads.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rollcall::run {

/// The cosines between the n rollouts of each group of a micro-batch, [n, n] row by row, one group
/// after the other; 0 for a pair with a rollout without policy tokens. `gradients`: of the
/// micro-batch's sequences, as MicroBatchRunner::logprob_gradients returns them. `group`: [B] of
/// the step's rollouts (method::StepColumns). The numbers of a group depend only on that group.
std::vector<float> gradient_cosines(const TrainBatch::MicroBatchRange& range,
                                    std::span<const double> gradients,
                                    std::span<const std::int64_t> group);

/// The mean squared cosine over pairs of two rollouts of a group, with equal weight for each group;
/// NaN where no group has two rollouts. `cosines`: [groups][n, n].
double mean_squared_cosine(const std::vector<std::vector<float>>& cosines);

}  // namespace rollcall::run
