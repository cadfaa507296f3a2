// What pieces look at: the whole step before the update (Step), and a leaf of it under the current policy (Leaf).
// Letters: B rollouts of the step, P prompts (groups), N policy tokens; L rollouts and M tokens of a leaf.
#pragma once

#include "objective/objective.hpp"

#include <cstdint>
#include <string>

namespace rollcall::objective {

/// Denominators of the whole step: no piece counts for itself, so no piece can divide by the size of its leaf.
/// Each is at least 1: where nothing is trained the numerator is zero as well.
struct Normalizer {
  double tokens = 1;    ///< trained tokens
  double rollouts = 1;  ///< rollouts with a trained token
  double prompts = 1;   ///< prompts with a trained token
  double horizon = 0;   ///< longest response the sampler allows; 0: unknown
};

/// The step's columns and what is derived from them, filled in this order: advantage, weight, then lengths and denominators.
class Step {
 public:
  /// Throws std::logic_error when shapes do not fit, NumericsError for a reward that is not finite.
  explicit Step(StepColumns step_columns);

  StepColumns columns;
  std::int64_t rollouts = 0, prompts = 0, tokens = 0;  ///< B, P, N
  at::Tensor rollout;                                  ///< [N] int64, the rollout of each token
  at::Tensor group_size;                               ///< [P] float64, >= 1
  at::Tensor advantage;                                ///< [N] once the advantage piece has run
  at::Tensor factor;                                   ///< [N] product of the weight pieces; undefined: all 1
  at::Tensor keep;                                     ///< [N] float64, 1 for trained tokens, 0 for dropped ones; undefined: all trained
  at::Tensor trained_length;                           ///< [B] float64, trained tokens of each rollout
  Normalizer normalizer;

  /// Recounts trained_length and normalizer after the weight pieces have set `keep`.
  void count();

  at::Tensor group_sum(const at::Tensor& per_rollout) const;    ///< [B] -> [P]
  at::Tensor rollout_sum(const at::Tensor& per_token) const;    ///< [N] -> [B]
  at::Tensor over_rollouts(const at::Tensor& per_group) const;  ///< [P] -> [B]
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;  ///< [B] -> [N]
  /// Mean reward of the group, [B]. A group of one has nothing to compare with: its baseline is 0, so that its advantage is the plain
  /// reward (an unbiased estimate without a baseline; as verl and RLOO have it) rather than an identical zero.
  at::Tensor baseline() const;
  const at::Tensor& named(const std::string& column) const;  ///< throws ConfigError when the step does not carry it
};

/// A leaf's tokens. `logprob` and `entropy` are what the loss is differentiated by; everything else is frozen.
class Leaf {
 public:
  Leaf(const Step& whole, const LeafColumns& columns);

  const Step& step;
  at::Tensor logprob, entropy;        ///< [M], require grad
  at::Tensor old_logprob, advantage;  ///< [M]

  std::int64_t tokens() const { return logprob.size(0); }
  at::Tensor take(const at::Tensor& per_token) const;           ///< [N] -> [M]
  at::Tensor rollout_mean(const at::Tensor& per_token) const;   ///< [M] -> [L], differentiable; 0 for a rollout without tokens
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;  ///< [L] -> [M], differentiable

 private:
  std::int64_t first_ = 0;     // first token in the step, when the leaf's tokens lie side by side
  at::Tensor index_;           // [M] tokens in the step, otherwise
  at::Tensor length_;          // [L] int64
  at::Tensor rollout() const;  // [M] int64, the rollout of each token within the leaf
};

}  // namespace rollcall::objective
