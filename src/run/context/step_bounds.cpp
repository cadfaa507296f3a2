// Translates sections of the run file for the scheduler.
#include "run/context/step_bounds.hpp"

namespace rollcall::run {

std::unique_ptr<const scheduling::Scheduler> policy_without_prompts(const RunConfig& config) {
  const SchedulerSection& s = config.scheduler;
  return scheduling::make_scheduler({s.policy, s.sampler, s.allocator, s.rounds, s.selection},
                                    s.knobs, scheduling::PromptTable{.level = {0}},
                                    std::uint64_t(config.run.seed));
}

scheduling::StepRequest step_bounds(const RunConfig& config) {
  const TrainSection& t = config.train;
  return {.step = 1,
          .prompts = t.prompts_per_step,
          .budget = t.prompts_per_step * t.rollouts_per_prompt,
          .min_rollouts = config.scheduler.min_rollouts,
          .max_rollouts = config.scheduler.max_rollouts};
}

}  // namespace rollcall::run
