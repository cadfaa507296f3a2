// Recipes that are another row without a section of the run file: a run whose name promises what it
// does not do is refused.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "scheduling/scheduler.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// Whether the run file lacks what its recipe is made of, with the setting that is missing. A run
/// from an archive takes its steps from there.
void check_recipe_needs(const RunConfig& config, Faults& faults);

/// Of a run that trains on its own draws: what its recipe's paper has beside the loss and the run
/// file
/// does not, each with what the run is without it. Nothing of them is wrong.
std::vector<std::string> companions_told(const RunConfig& config);

/// Whether the recipe's data begin anew with each copy of the policy into the reference.
bool forgets_at_refresh(const RunConfig& config);

/// The same of a policy that the run file names: train.rollouts_per_prompt and the bounds of
/// [scheduler]
/// may leave it no room, so that it draws as another one does.
void check_policy_needs(const RunConfig& config, const scheduling::Scheduler& policy);

/// Throws ConfigError where task.shuffle_rewards is set and the recipe learns from something that
/// permuted verdicts do not reach, or from no verdict at all, or judge tasks are made of true
/// verdicts:
/// the run would be no control.
void check_control(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
