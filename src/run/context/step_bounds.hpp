// The scheduler and the size of a step as far as the settings alone determine them, before any
// prompt is read.
#pragma once

#include "core/run_config.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <memory>

namespace rollcall::run {

/// The scheduler without prompts. What it needs, which rewards it reads and its bounds do not
/// depend on prompts. Throws ConfigError on an unknown name or knob.
std::unique_ptr<const scheduling::Scheduler> policy_without_prompts(const RunConfig& config);

/// The prompts, the budget of rollouts and the bounds per prompt of one step.
scheduling::StepRequest step_bounds(const RunConfig& config);

/// What prompts that are made of the answers of a step add to what the scheduler draws, at most.
struct SecondPassBounds {
  std::int64_t parents = 0;     ///< groups of which prompts are made
  std::int64_t of_a_group = 0;  ///< prompts that are made of one of them
  std::int64_t prompts = 0;     ///< prompts of one round
  std::int64_t rollouts = 0;    ///< of all of its rounds
  std::int64_t rounds = 0;
};
/// All are 0 where second_pass.kind is neither refinement nor error.
SecondPassBounds second_pass_bounds(const RunConfig& config);

/// Whether the second pass first asks what is wrong with an answer.
bool names_errors(const SecondPassSection& settings);

}  // namespace rollcall::run
