// The run's scheduler and steps as far as settings alone tell of them, before there are prompts.
#pragma once

#include "core/run_config.hpp"
#include "scheduling/scheduler.hpp"

#include <memory>

namespace rollcall::run {

/// The scheduler as its knobs make it, without prompts: what it wants and hears, and its bounds, do
/// not depend on them. Throws ConfigError on an unknown name or knob.
std::unique_ptr<const scheduling::Scheduler> policy_without_prompts(const RunConfig& config);

/// Prompts, budget and bounds of a step of the run.
scheduling::StepRequest step_bounds(const RunConfig& config);

}  // namespace rollcall::run
