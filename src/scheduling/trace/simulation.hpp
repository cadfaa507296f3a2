// A run without a model: a scheduler chooses prompts, answers are random, and a learner follows the
// noisy gradient of the chosen rollouts. SIMULATION.md says what it can show.
#pragma once

#include "scheduling/prompts/population.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// The settings of a simulation. The numbers are choices, not measurements; SIMULATION.md gives
/// their reasons.
struct Simulation {
  std::uint64_t prompts = 20'000;
  std::uint64_t seed = 1;
  std::int64_t steps = 300;
  std::int64_t prompts_per_step = 256;
  std::int64_t rollouts_per_prompt = 8;  ///< mean over the prompts of a step
  std::int64_t min_rollouts = 2, max_rollouts = 32;
  double rate = 0.01;        ///< learning rate of the learner
  double noise = 3.0;        ///< standard deviation of a rollout's gradient, per coordinate
  double help = 1.0;         ///< the amount by which a tier of help lowers a prompt's difficulty
  std::int64_t points = 40;  ///< number of points on the curves
};

/// State of a run after some of its steps; rollouts, groups and signal are totals so far.
struct SimulationPoint {
  std::int64_t step = 0;
  double pass_rate = 0.0, hardest_fifth = 0.0;  ///< exact means over the prompts
  std::int64_t drawn = 0, trained = 0;          ///< rollouts
  std::int64_t groups = 0, zero_variance = 0;   ///< groups; those whose rewards were all equal
  double signal = 0.0;  ///< sum of A (r - p) over the trained rollouts, without weights
};

/// Runs a scheduler from skill 0; the first point is before the first step. Outcomes are addressed
/// by (step, prompt, draw, sample), so that schedulers that draw the same rollouts see the same
/// answers. Throws ConfigError when the scheduler needs something that the simulation cannot
/// supply.
std::vector<SimulationPoint> simulate(Scheduler& policy, const Population& population,
                                      const Simulation& simulation);

}  // namespace rollcall::scheduling
