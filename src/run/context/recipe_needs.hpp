// Recipes that need more than their row of the table: a section of the run file, or room for
// choices. Without it they would train as another recipe does, so such a run is refused.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "scheduling/scheduler.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// Adds a fault for every setting that is part of the recipe and that the run file lacks. A run
/// that trains from an archive takes its steps from there and needs none of them.
void check_recipe_needs(const RunConfig& config, Faults& faults);

/// For a run that trains on its own rollouts: one sentence for each part of the recipe's paper,
/// apart from the loss, that the run file does not have. It says what the run is without that part.
/// These sentences are not faults.
std::vector<std::string> companions_told(const RunConfig& config);

/// Whether the recipe drops its replayed data whenever the policy is copied into the reference.
bool forgets_at_refresh(const RunConfig& config);

/// Throws ConfigError where train.rollouts_per_prompt and the bounds of [scheduler] leave the
/// scheduler no room, so that it would draw as a simpler scheduler does.
void check_policy_needs(const RunConfig& config, const scheduling::Scheduler& policy);

/// Logs, for a training run, that its prompts and bounds leave the scheduler no choice: a warning
/// where scheduler.policy is not the default.
void tell_shortage(const RunConfig& config, const scheduling::Scheduler& policy);

/// Throws ConfigError where the scheduler weighs advantages that the loss does not read.
void check_weights(const RunConfig& config, const method::Objective& objective,
                   const scheduling::Scheduler& policy);

/// Throws ConfigError where task.shuffle_rewards is set and the run would be no control: the recipe
/// learns from something that the permutation does not reach, or from no verdict at all, or prompts
/// are made of true verdicts, references or worked solutions (judge tasks, second passes, help).
void check_control(const RunConfig& config, const method::Objective& objective);

}  // namespace rollcall::run
