// The material of a second pass: the finished answers of a step, which scoring sends to rank 0.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "run/messages/messages.hpp"

#include <vector>

namespace rollcall::run {

/// Whether a run makes prompts of the answers of a step, in its next round or in a later step.
bool shows_exhibits(const RunConfig& config);

/// Adds to `specimens`, which scoring sends of a shard, the answers that a second pass can be made
/// of: those of training groups of the task, and those that name an error or continue a history.
/// Answers without a verdict are left out, and so are right ones unless second_pass.of is every;
/// answers that were cut off are counted alone. For pools it adds all answers with a verdict,
/// without their texts. merged() joins the specimens of each group.
void add_exhibits(std::vector<Specimen>& specimens, const RunConfig& config,
                  const RolloutShard& shard, const ScoredShard& scores);

}  // namespace rollcall::run
