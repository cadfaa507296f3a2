// The turns of a step: which policy tokens form a turn, and sums, copies, returns and class means
// along them.
// Letters: B rollouts of the step, K policy turns, N policy tokens.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace rollcall::objective {

/// In a step without turns, each rollout is one turn with all its tokens. Every function returns a
/// new column. Sums run in the order of the turns, so that their rounding is fixed.
class TurnShape {
 public:
  /// offsets: [B+1] tokens of rollouts. turn_offsets: [B+1] turns of rollouts, ascending, at least
  /// one each; turn_begin: [K+1] first token of each turn, then N. Both undefined: one turn for
  /// each rollout. Throws std::logic_error where turns do not tile their rollouts.
  TurnShape(const at::Tensor& offsets, const at::Tensor& turn_offsets,
            const at::Tensor& turn_begin);

  std::int64_t turns = 0;
  at::Tensor rollout;  ///< [K] int64, the rollout of each turn
  at::Tensor index;    ///< [K] int64, the turn's place in its rollout, from 0
  at::Tensor length;   ///< [K] float64, policy tokens of each turn
  at::Tensor turn;     ///< [N] int64, the turn of each token
  at::Tensor last;     ///< [K] int64, the last token of each turn; -1 for a turn without tokens

  at::Tensor ends() const;  ///< [K] bool, the last turn of each rollout
  /// [K] int64, a column of whole numbers. Throws std::logic_error if it is not a column of turns.
  at::Tensor numbers(const at::Tensor& column) const;
  at::Tensor turn_sum(const at::Tensor& per_token) const;      ///< [N] -> [K]
  at::Tensor turn_mean(const at::Tensor& per_token) const;     ///< [N] -> [K], 0 without tokens
  at::Tensor over_tokens(const at::Tensor& per_turn) const;    ///< [K] -> [N]
  at::Tensor over_turns(const at::Tensor& per_rollout) const;  ///< [B] -> [K]
  at::Tensor rollout_sum(const at::Tensor& per_turn) const;    ///< [K] -> [B]
  /// [K] G_k = r_k + gamma G_{k+1} within each rollout. `restarts`: [K] bool, undefined: nowhere;
  /// where it is set, G_k = r_k (UI-S1: a turn whose action was patched).
  at::Tensor returns(const at::Tensor& reward, double gamma, const at::Tensor& restarts = {}) const;

  /// The comparison of a turn with its class: x - m | n/(n-1) (x - m) | (x - m)/(s + eps), where s
  /// divides by n - 1.
  enum class Centre { mean, leave_one_out, standard };
  enum class Alone { zero, itself };  ///< what a class of one gives
  /// [K] `key`: [K] int64, equal within a class. Classes are summed in the order of the turns.
  at::Tensor centred(const at::Tensor& x, const at::Tensor& key, Centre how, Alone alone,
                     double eps) const;
  /// [K] int64, the same number for turns with equal a and equal b, in order of appearance.
  static at::Tensor paired(const at::Tensor& a, const at::Tensor& b);
};

}  // namespace rollcall::objective
