// Checks of settings for runs in which rollouts are conversations.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"

namespace rollcall::run {

/// Refuses an environment that the program does not have or that plays other prompts, a verifier
/// that leaves its verdict to an environment in a run without one, and parts of a run that support
/// only single answers. `objective`: null if its settings are wrong.
void check_environment(const RunConfig& config, const method::Objective* objective, Faults& faults);

}  // namespace rollcall::run
