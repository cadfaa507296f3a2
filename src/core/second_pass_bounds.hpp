// How much a second pass may add to a step, as far as the settings alone determine it.
#pragma once

#include "core/run_config.hpp"

#include <cstdint>

namespace rollcall {

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

}  // namespace rollcall
