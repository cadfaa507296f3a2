// The input of pieces. Step is the whole step before the update, and MicroBatchTensors is a
// micro-batch of it under the current policy.
// Letters: B rollouts of the step, P prompts (groups), N policy tokens; L rollouts and M tokens of
// a micro-batch.
#pragma once

#include "method/columns.hpp"
#include "objective/objective.hpp"
#include "objective/step_shape.hpp"
#include "objective/turn_shape.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::objective {

namespace column = method::column;

/// Denominators of the whole step. Pieces divide by these and count nothing themselves, so a loss
/// cannot depend on the size of a micro-batch. Each count is at least 1. If nothing is trained, the
/// numerator is zero as well.
struct Normalizer {
  double tokens = 1;    ///< trained tokens
  double rollouts = 1;  ///< rollouts with a trained token
  double prompts = 1;   ///< prompts with a trained token
  double horizon = 0;   ///< longest response that the sampler allows, in tokens; 0: unknown
};

/// Mean of x with weights >= 0 (undefined: all 1); 0 where all weights are 0. The result never
/// leaves the range of the values that count, so the mean of equal values is exactly that value.
/// Without this bound, rounding would leave a small difference, which a division by a spread of
/// 0 + eps would make large.
double mean_of(const at::Tensor& x, const at::Tensor& weight = {});

/// [n] bool: whether a[i] and b[i] differ as defined in base/numbers/differing.hpp.
at::Tensor differing(const at::Tensor& a, const at::Tensor& b);

/// The turns of a step, with the rewards that reward pieces give to single turns.
struct PaidTurns : TurnShape {
  using TurnShape::TurnShape;
  at::Tensor paid;        ///< [K] in addition to Step::reward; undefined: nothing
  bool replaced = false;  ///< a reward piece replaced the environment's rewards for turns
};

/// The columns of a step, or of a mini-batch of it, and what the pieces derive from them. It is
/// filled in this order: reward, advantage, weights, then trained lengths and denominators.
class Step {
 public:
  /// Throws std::logic_error when shapes do not fit, NumericsError for a reward that is not finite.
  explicit Step(StepColumns step_columns);

  StepColumns columns;
  StepShape shape;
  PaidTurns turns;
  at::Tensor reward;  ///< [B] as the reward pieces have shaped it; columns.reward is the verifier's
  at::Tensor token_reward;    ///< [N] rewards of single tokens, in addition to `reward`; undefined:
                              ///< none
  at::Tensor advantage;       ///< [N] once the advantage piece has run
  at::Tensor value_target;    ///< [N] what the value head is to learn; undefined: nothing
  at::Tensor factor;          ///< [N] product of the weight pieces; undefined: all 1
  at::Tensor keep;            ///< [N] float64, 1 for trained tokens, 0 for dropped ones; undefined:
                              ///< all are trained
  at::Tensor trained_length;  ///< [B] float64, trained tokens of each rollout
  Normalizer normalizer;
  const Step* of_step = nullptr;  ///< the whole step, where this is a mini-batch of it
  const Step& whole() const { return of_step != nullptr ? *of_step : *this; }

  /// Recounts trained_length and normalizer after the weight pieces have set `keep`.
  void count();

  /// [B] mean reward of the group. A group of one has the baseline 0, because there is nothing to
  /// compare with. Its advantage is then the plain reward, an unbiased estimate without a baseline
  /// (as in verl and in RLOO). With its own reward as the baseline it would always be 0.
  at::Tensor baseline() const;
  /// [B] standard deviation of the reward within the group, with n - 1, or with n if `population`.
  /// A group of one has 1.
  at::Tensor spread(bool population = false) const;

  /// [K] the reward of each turn. The turns of a rollout sum to `reward` plus their `turns.paid`.
  /// Changes that reward pieces make to a rollout's reward count at its last turn. If the step has
  /// no column turn/reward, or if `turns.replaced` is set, the whole reward does.
  at::Tensor turn_reward() const;
  /// The sampler's token limit. Throws ConfigError when the sampler states none.
  double horizon() const;
  /// Throws ConfigError when the step does not carry the column.
  const at::Tensor& named(const std::string& name) const;
  /// The value of a moving statistic after the previous step; `initial` at the start of a run.
  double statistic(const std::string& name, double initial) const;
  /// [B] uniform in [0, 1). Seed, step and rollout key address each number, so the order of the
  /// rollouts and the number of ranks change nothing. `purpose` keeps the pieces apart.
  at::Tensor uniform_rollouts(std::uint64_t purpose) const;
  /// [N] like uniform_rollouts(), but addressed by the token's place as well
  at::Tensor uniform_tokens(std::uint64_t purpose) const;
};

/// A micro-batch's tokens. The loss is differentiated by `logprob`, `entropy`, `value` and
/// `miss_logprob`; everything else is frozen.
class MicroBatchTensors {
 public:
  MicroBatchTensors(const Step& whole, const MicroBatchColumns& columns);

  const Step& step;
  at::Tensor logprob, entropy, value;  ///< [M], require grad; value is undefined where the
                                       ///< micro-batch brings none
  at::Tensor miss_logprob;  ///< [M], requires grad; undefined where the micro-batch brings none
  at::Tensor old_logprob, advantage;  ///< [M]

  std::int64_t tokens() const { return logprob.size(0); }         ///< M
  std::int64_t rollouts() const { return length_.size(0); }       ///< L
  at::Tensor take(const at::Tensor& per_token) const;             ///< [N] -> [M]
  at::Tensor take_rollouts(const at::Tensor& per_rollout) const;  ///< [B] -> [L]
  at::Tensor rollout_sum(const at::Tensor& per_token) const;      ///< [M] -> [L], differentiable
  /// [M] -> [L], differentiable; 0 for a rollout without tokens
  at::Tensor rollout_mean(const at::Tensor& per_token) const;
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;  ///< [L] -> [M], differentiable

  // The functions below serve losses that couple the rollouts of a group
  // (PieceNeeds::whole_groups). Only rollouts with a trained token take part in them.

  at::Tensor present() const;   ///< [L] float64, 1 for a rollout with a trained token, else 0
  std::int64_t groups() const;  ///< groups of the micro-batch
  at::Tensor group() const;     ///< [L] int64, 0 .. groups()-1
  /// [L] -> [groups], differentiable
  at::Tensor group_sum(const at::Tensor& per_rollout) const;
  /// [L] -> [groups], over the rollouts with mask > 0. A group without such a rollout has -inf.
  at::Tensor group_logsumexp(const at::Tensor& per_rollout, const at::Tensor& mask) const;
  /// [groups] -> [L], differentiable
  at::Tensor over_group(const at::Tensor& per_group) const;
  /// Ordered pairs (i, j), i != j, of present rollouts of the same group: two [K] int64 columns of
  /// places within the micro-batch.
  std::pair<at::Tensor, at::Tensor> pairs() const;
  /// Throws std::logic_error when the micro-batch holds a part of a group.
  void expect_whole_groups() const;

 private:
  std::int64_t first_ = 0;     // first token in the step, where the micro-batch's tokens are
                               // contiguous in it
  at::Tensor index_;           // [M] tokens in the step, where they are not; else undefined
  at::Tensor length_;          // [L] int64
  at::Tensor rollouts_;        // [L] int64 rollouts of the step
  at::Tensor rollout() const;  // [M] int64, the rollout of each token within the micro-batch
};

}  // namespace rollcall::objective
