// Answers without a verdict: which leave the step, and what the others are paid. To be undecided is
// never better than to be wrong.
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

/// The answer itself may have brought it about that there is no verdict: its judging ran out of
/// time, or the process that judged it failed, a fresh one too. A verifier that says itself that it
/// cannot tell, a broken sandbox and a judge's silence are not of this kind.
inline bool is_own_doing(const Score& score) { return score.undecided && score.clock_ended; }

/// Whether the answer leaves the step. `drop`: reward.undecided.
inline bool leaves_the_step(const Score& score, bool drop) {
  return drop && score.undecided && !is_own_doing(score);
}

// greedy_reward (step_batch.hpp): NaN where there is no verdict, -infinity where the answer itself
// may have brought that
// about.
// settle_undecided (step_batch.hpp): rollouts that leave the step go, and with them groups that
// keep none, or whose greedy
// answer has gone. Every other one without a verdict is wrong: it gets the lowest reward, and the
// lowest of each component,
// that the verifier gave to a rollout of the step, or 0 where it gave none. So does a greedy
// answer. The whole step is
// needed. Returns how many rollouts the verifier has decided.

/// Closes a sampled step: settle_undecided, then shuffle_rewards under task.shuffle_rewards.
/// Whoever
/// wants the verdicts that the update trains on asks this. Returns how many rollouts the verifier
/// has decided.
std::size_t close_step(StepBatch& step, const RunConfig& config, std::uint64_t number);

/// In GroupReport::rewards: of an answer without a verdict that stays, until the whole step is
/// known.
inline constexpr double kUnsettled = std::numeric_limits<double>::quiet_NaN();
/// Of the rewards of a step so far that are known; 0 where none is.
double lowest_reward(std::span<const std::vector<GroupReport>* const> reports);
/// Gives those that are not settled this one.
void settle_rewards(std::vector<GroupReport>& reports, double lowest);
/// StepBatch::greedy of what the scheduler is told of greedy answers, one a report.
std::map<PromptId, double> greedy_rewards(const std::vector<GroupReport>& greedy);
/// The group has left the step: its rollouts were drawn, and nothing is known of them.
void let_go(GroupReport& report);

}  // namespace rollcall::run
