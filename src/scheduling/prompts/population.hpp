// The prompts of a simulation: how hard they are, and what schedulers know about that.
#pragma once

#include "scheduling/scheduler.hpp"
#include "scheduling/trace/learner.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace rollcall::scheduling {

/// A simulation has the same prompts for every scheduler.
struct Population {
  std::vector<float> difficulty{};   ///< [prompts] logit of failure at skill 0
  std::vector<std::uint8_t> cell{};  ///< [prompts] the skill that a prompt needs: domain and fifth
                                     ///< of the difficulty
  std::vector<std::uint8_t> hard{};  ///< [prompts] 1 for the hardest fifth
  PromptTable table{};  ///< what schedulers may know: noisy levels from 1, domains, noisy priors
};

Population make_population(std::uint64_t prompts, std::uint64_t seed);

/// Makes a scheduler for the population. It gets levels and domains, and priors only if it needs
/// them.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerChoice& choice, const Knobs& knobs,
                                          const Population& population, std::uint64_t seed);

}  // namespace rollcall::scheduling
