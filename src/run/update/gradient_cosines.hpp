// How alike the rollouts of a group would change the policy: the cosines between their gradients by
// the states that the head reads.
#pragma once

#include "run/step/step_batch.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rollcall::run {

/// For each group of a micro-batch one after the other the cosines between its n rollouts, [n, n]
/// row by row; 0 beside a rollout without policy tokens. `gradients`: of the micro-batch's
/// sequences, model::MicroBatchRunner::logprob_gradients; `group`: [B] of the step's rollouts
/// (method::StepColumns). A group's numbers depend on it alone.
std::vector<float> gradient_cosines(const TrainBatch::MicroBatchRange& range,
                                    std::span<const double> gradients,
                                    std::span<const std::int64_t> group);

/// Mean over the pairs of two rollouts of a group, each group weighing alike; NaN where no group
/// has two. `cosines`: [groups][n, n].
double mean_squared_cosine(const std::vector<std::vector<float>>& cosines);

}  // namespace rollcall::run
