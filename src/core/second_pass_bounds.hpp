// How much a second pass may add to a step, as far as the settings alone determine it.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>

namespace rollcall {

/// The most that prompts made from a step's answers add to what the scheduler draws.
struct SecondPassBounds {
  std::int64_t parents = 0;     ///< groups from which prompts are made
  std::int64_t of_a_group = 0;  ///< prompts made from each of them
  std::int64_t prompts = 0;     ///< prompts per round
  std::int64_t rollouts = 0;    ///< rollouts over all of its rounds
  std::int64_t rounds = 0;
};
/// All are 0 if second_pass.kind is neither refinement nor error.
SecondPassBounds second_pass_bounds(const RunConfig& config);

/// Whether the second pass first asks what is wrong with an answer.
bool names_errors(const SecondPassSection& settings);

}  // namespace rollcall
