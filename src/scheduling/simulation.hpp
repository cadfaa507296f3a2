// A learner without a model: prompts of heavy-tailed difficulty, skills that follow the gradient signal a policy buys. SIMULATION.md says what it can tell.
#pragma once

#include "scheduling/policy.hpp"

#include <cstdint>
#include <string>
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
  double rate = 4.0;         ///< skill gained per unit of signal
  std::int64_t points = 40;  ///< of the curves
};

/// Prompts of a simulation, the same for every policy.
struct Population {
  std::vector<float> difficulty{};   ///< [prompts] logit of failure at skill 0
  std::vector<std::uint8_t> cell{};  ///< [prompts] which skill answers it
  std::vector<std::uint8_t> hard{};  ///< [prompts] 1 for the hardest fifth
  PromptTable table{};               ///< level: fifth of the difficulty, from 1; domain
};

Population make_population(const Simulation& simulation);

/// State of a run after some of its steps; rollouts, groups and signal are totals so far.
struct SimulationPoint {
  std::int64_t step = 0;
  double pass_rate = 0.0, hardest_fifth = 0.0;  ///< exact means over the prompts
  std::int64_t drawn = 0, trained = 0;          ///< rollouts
  std::int64_t groups = 0, zero_variance = 0;   ///< groups; those whose rewards were all equal
  double signal = 0.0;                          ///< sum over rollouts of the gained gradient
};

/// Runs a policy from skill 0; the first point is before the first step. Outcomes are addressed by (step, prompt, draw, sample), so that policies that draw
/// the same rollouts see the same answers.
std::vector<SimulationPoint> simulate(Policy& policy, const Population& population, const Simulation& simulation);

}  // namespace rollcall::scheduling
