// Which columns of a step a run can provide to its objective, and which ranks need the rollouts of
// a step to do so.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

#include <string>

namespace rollcall::run {

/// Whether some stage provides the column, either from the rollouts of the step or by a forward
/// pass.
bool is_provided(const std::string& column);

/// Whether the objective reads a column that only a forward pass of a model provides. Shards do not
/// hold such columns.
bool runs_passes(const method::Objective& objective);

/// Whether the objective or the sampler of the scheduler reads the tracked success of prompts. Then
/// the keys of the section [success] have an effect.
bool reads_tracked_success(const RunConfig& config, const method::Objective& objective);

/// Whether the beginnings of answers with a corrected line (second_pass.kind error) train as well.
/// They do if the objective asks which tokens were given.
bool learns_mended(const RunConfig& config, const method::Objective& objective);

/// Whether answers may have a beginning that was not sampled and that trains. It has no log-probs
/// and entropies (NaN) before the update computes them.
bool learns_given(const RunConfig& config, const method::Objective& objective);

/// Which update ranks hold the rollouts of a step in memory.
enum class StepResidency { every_rank, leader };

/// Says which update ranks hold the rollouts: all of them where every rank computes with whole
/// rollouts, only the leader where the other ranks just receive micro-batches from it.
StepResidency step_at(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
