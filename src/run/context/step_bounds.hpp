// The scheduler and the size of a step as far as the settings alone determine them, before any
// prompt is read.
#pragma once

#include "core/run_config.hpp"
#include "scheduling/scheduler.hpp"

#include <memory>

namespace rollcall::run {

/// The scheduler without prompts. What it needs, which rewards it reads and its bounds do not
/// depend on prompts. Throws ConfigError on an unknown name or knob.
std::unique_ptr<const scheduling::Scheduler> policy_without_prompts(const RunConfig& config);

/// The prompts, the budget of rollouts and the bounds per prompt of one step.
scheduling::StepRequest step_bounds(const RunConfig& config);

}  // namespace rollcall::run
