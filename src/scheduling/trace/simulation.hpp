// A run without a model: a policy chooses, prompts are answered by chance, a learner follows the
// noisy gradient that the policy buys. SIMULATION.md says what it can tell.
#pragma once

#include "scheduling/prompts/population.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// What is simulated. The numbers are choices, not measurements: SIMULATION.md gives their reasons.
struct Simulation {
  std::uint64_t prompts = 20'000;
  std::uint64_t seed = 1;
  std::int64_t steps = 300;
  std::int64_t prompts_per_step = 256;
  std::int64_t rollouts_per_prompt = 8;  ///< mean
  std::int64_t min_rollouts = 2, max_rollouts = 32;
  double rate = 0.01;        ///< of the learner
  double noise = 3.0;        ///< of a rollout's gradient, by coordinate
  std::int64_t points = 40;  ///< of the curves
};

/// State of a run after some of its steps; rollouts, groups and signal are totals so far.
struct SimulationPoint {
  std::int64_t step = 0;
  double pass_rate = 0.0, hardest_fifth = 0.0;  ///< exact means over the prompts
  std::int64_t drawn = 0, trained = 0;          ///< rollouts
  std::int64_t groups = 0, zero_variance = 0;   ///< groups; those whose rewards were all equal
  double signal = 0.0;  ///< sum of A (r - p) over the trained rollouts, without weights
};

/// Runs a policy from skill 0; the first point is before the first step. Outcomes are addressed by
/// (step, prompt, draw, sample), so that schedulers that draw the same rollouts see the same
/// answers. Throws ConfigError when the policy needs what the simulation has no source for.
std::vector<SimulationPoint> simulate(Scheduler& policy, const Population& population,
                                      const Simulation& simulation);

}  // namespace rollcall::scheduling
