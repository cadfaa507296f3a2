// Translates sections of the run file for the scheduler.
#include "run/context/step_bounds.hpp"

#include <algorithm>
#include <cmath>

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

bool names_errors(const SecondPassSection& settings) {
  return settings.kind == "error" ||
         (settings.kind == "refinement" && settings.feedback == "critique");
}

SecondPassBounds second_pass_bounds(const RunConfig& config) {
  constexpr std::int64_t kOfAGroup = 4;  // unless every answer is asked about
  const SecondPassSection& s = config.second_pass;
  const TrainSection& t = config.train;
  if (s.kind != "refinement" && s.kind != "error") return {};
  SecondPassBounds bounds;
  const std::int64_t largest = config.scheduler.max_rollouts;
  const bool every = s.of == "every";
  bounds.parents = std::int64_t(std::floor(s.share * double(t.prompts_per_step) + 1e-9));
  bounds.of_a_group = every ? largest : std::min(kOfAGroup, largest);
  bounds.prompts = bounds.parents * bounds.of_a_group;
  if (every) bounds.prompts = std::min(bounds.prompts, t.prompts_per_step * t.rollouts_per_prompt);
  bounds.rounds = names_errors(s) ? 2 : 1;
  bounds.rollouts = bounds.prompts * (s.rollouts + (names_errors(s) ? 1 : 0));
  return bounds;
}

}  // namespace rollcall::run
