// Recipes that are another row without a section of the run file: a run whose name promises what it does not do is refused.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "scheduling/policy.hpp"

namespace rollcall::stages {

/// Throws ConfigError where the run file lacks what its recipe is made of, with the setting that is missing. A run from an archive takes its steps from there.
void check_recipe_needs(const RunConfig& config);

/// Whether the recipe's data begin anew with each copy of the policy into the reference.
bool forgets_at_refresh(const RunConfig& config);

/// The same of a policy: its rounds may draw more rollouts of a prompt than the run allows.
void check_policy_needs(const RunConfig& config, const scheduling::Policy& policy);

/// Throws ConfigError where task.shuffle_rewards is set and the recipe learns from something that
/// permuted verdicts do not reach, or from no verdict at all: the run would be no control.
void check_control(const RunConfig& config, const method::Method& objective);

}  // namespace rollcall::stages
