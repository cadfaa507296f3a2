// The columns of policy turns that the objective reads. They say which tokens form a turn, what
// reward the turn got, and what its environment reported about it. A turn is an action
// (run/messages/actions.hpp).
#pragma once

#include "core/rollout.hpp"
#include "method/columns.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace rollcall::run {

/// The columns turn/... of rollouts, in the order in which the rollouts are appended.
class TurnColumns {
 public:
  /// `step`: all groups of the step, borrowed for this call. Equal states have equal numbers in all
  /// mini-batches of a step, and so do equal actions. The numbers count from 1 in the order of
  /// first occurrence in the step.
  explicit TurnColumns(const std::vector<Group>& step);

  /// `reward`: the reward of the rollout. The rewards of its turns sum to it. The part that the
  /// environment did not pay counts at the last turn, and so does the whole reward if `score` is
  /// undecided. `first_token`: place of the rollout's first policy token.
  void append(const Rollout& rollout, const Score& score, std::int64_t first_token);

  /// Adds the columns to those of a step of `tokens` policy tokens. StepColumns::turn_offsets and
  /// turn_begin stay empty where every rollout has one turn.
  void add_to(method::StepColumns& columns, std::int64_t tokens) &&;

 private:
  using Numbers = std::unordered_map<std::uint64_t, double>;
  static double number(const Numbers& numbers, std::uint64_t hash);

  Numbers states_, actions_;
  std::vector<std::int64_t> offsets_{0}, begin_;
  std::vector<double> reward_, state_, next_state_, action_, flags_, kind_, seat_;  ///< [K]
};

/// [rollouts] the environment's reward for each action; empty for a rollout without facts. The
/// whole list is empty if no rollout has facts.
std::vector<std::vector<double>> turn_rewards(const std::vector<Group>& groups);

/// Gives rollouts the rewards of other rollouts' turns. Action k gets reward k, and the last action
/// also gets the rewards of actions that the rollout does not have. `rewards`: as turn_rewards has
/// them. Rollouts without facts keep none.
void put_turn_rewards(const std::vector<std::vector<double>>& rewards, std::vector<Group>& groups);

}  // namespace rollcall::run
