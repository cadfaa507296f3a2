// Verdicts on conversations. They consist of what the environment paid and decided, and of the
// grader's verdict on the last action if the environment has not decided.
#pragma once

#include "core/rollout.hpp"
#include "reward/verifier.hpp"

#include <cstddef>

namespace rollcall::run {

/// Whether the conversation needs no grader: the environment decided it, or lost it.
bool is_settled(const Rollout& rollout);

/// The score of a rollout. Its components are those of `grader`, then `environment` ones that the
/// environment names, each summed over the turns. `graded`: what the run's grader says of the last
/// action, which counts unless is_settled(). The environment's rewards are added to its reward. A
/// lost conversation is undecided; where the environment failed because of the action, a clock
/// counts as its end (Score::clock_ended). A rollout without an environment keeps its score.
Score conversation_score(const reward::Grader& grader, const Rollout& rollout,
                         std::size_t environment, Score graded);

}  // namespace rollcall::run
