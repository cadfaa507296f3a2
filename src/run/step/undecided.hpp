// Decides which of the answers without a verdict leave the step, and what reward the others get. It
// is never better to be undecided than to be wrong.
#pragma once

#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

namespace rollcall::run {

/// Whether the answer itself may be the reason why it has no verdict: grading it ran out of time,
/// or the process that graded it failed, and so did a fresh one. The answer is not the reason where
/// a verifier says that it cannot tell, the sandbox is broken, or the judge does not reply.
inline bool is_own_doing(const Score& score) { return score.undecided && score.clock_ended; }

/// Whether the answer leaves the step. `drop`: reward.undecided.
inline bool leaves_the_step(const Score& score, bool drop) {
  return drop && score.undecided && !is_own_doing(score);
}

// greedy_reward() (step_batch.hpp) is NaN where there is no verdict, and -infinity where the answer
// itself may be the reason.
//
// settle_undecided() (step_batch.hpp) removes the rollouts that leave the step, and with them
// groups that keep no rollout or whose greedy answer has left. Every other rollout without a
// verdict counts as wrong: it gets the lowest reward, and the lowest value of each component, that
// the verifier gave to a rollout of the step, or 0 where it gave no verdict at all. A greedy answer
// is treated in the same way. The function needs the whole step, and returns how many rollouts the
// verifier decided.

/// Turns the verdicts of a sampled step into those that the update trains on: settle_undecided(),
/// then shuffle_rewards() where task.shuffle_rewards is set. Returns how many rollouts the verifier
/// decided.
std::size_t close_step(StepBatch& step, const RunConfig& config, std::uint64_t number);

/// The placeholder in GroupReport::rewards for an answer that has no verdict but stays in the step.
/// It is replaced when the whole step is known.
inline constexpr double kUnsettled = std::numeric_limits<double>::quiet_NaN();
/// The lowest of the known rewards of a step so far; 0 where no reward is known.
double lowest_reward(std::span<const std::vector<GroupReport>* const> reports);
/// Replaces every kUnsettled reward by `lowest`.
void settle_rewards(std::vector<GroupReport>& reports, double lowest);
/// StepBatch::greedy made of the reports of greedy answers, each of which has one rollout.
std::map<PromptId, double> greedy_rewards(const std::vector<GroupReport>& greedy);
/// Changes the report of a group that has left the step: its rollouts count as drawn, and their
/// rewards are no longer known.
void let_go(GroupReport& report);

}  // namespace rollcall::run
