// What pieces look at: the whole step before the update (Step), and a micro-batch of it under the
// current policy (MicroBatch).
// Letters: B rollouts of the step, P prompts (groups), N policy tokens; L rollouts and M tokens of
// a micro-batch.
#pragma once

#include "method/columns.hpp"
#include "objective/objective.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::objective {

namespace column = method::column;

/// Denominators of the whole step: no piece counts for itself, so no piece can divide by the size
/// of its micro-batch.
/// Each is at least 1: where nothing is trained the numerator is zero as well.
struct Normalizer {
  double tokens = 1;    ///< trained tokens
  double rollouts = 1;  ///< rollouts with a trained token
  double prompts = 1;   ///< prompts with a trained token
  double horizon = 0;   ///< longest response the sampler allows; 0: unknown
};

/// Mean of x by weights of 0 and more (undefined: all 1); 0 where they are all 0. Never outside the
/// least and the largest value that counts: the mean of equal values is that value, where the
/// rounding of their sum would leave a difference that a division by a spread of 0 + eps makes
/// large.
double mean_of(const at::Tensor& x, const at::Tensor& weight = {});

/// [n] bool, element by element by base/differing.hpp.
at::Tensor differing(const at::Tensor& a, const at::Tensor& b);

/// The columns of a step, or of a mini-batch of it, and what is derived from them, filled in this
/// order: advantage, weight, then lengths and denominators.
class Step {
 public:
  /// Throws std::logic_error when shapes do not fit, NumericsError for a reward that is not finite.
  explicit Step(StepColumns step_columns);

  StepColumns columns;
  std::int64_t rollouts = 0, prompts = 0, tokens = 0;  ///< B, P, N
  at::Tensor rollout;                                  ///< [N] int64, the rollout of each token
  at::Tensor place;       ///< [N] int64, the token's place in its rollout, from 0
  at::Tensor length;      ///< [B] float64, policy tokens
  at::Tensor group_size;  ///< [P] float64, >= 1
  at::Tensor reward;  ///< [B] as the reward pieces have shaped it; columns.reward is the verifier's
  at::Tensor token_reward;  ///< [N] reward of single tokens besides; undefined: none
  at::Tensor advantage;     ///< [N] once the advantage piece has run
  at::Tensor value_target;  ///< [N] what the value head is to learn; undefined: nothing
  at::Tensor factor;        ///< [N] product of the weight pieces; undefined: all 1
  at::Tensor keep;  ///< [N] float64, 1 for trained tokens, 0 for dropped ones; undefined: all
                    ///< trained
  at::Tensor trained_length;  ///< [B] float64, trained tokens of each rollout
  Normalizer normalizer;
  const Step* of_step = nullptr;  ///< the whole step, where this is a mini-batch of it
  const Step& whole() const { return of_step != nullptr ? *of_step : *this; }

  /// Recounts trained_length and normalizer after the weight pieces have set `keep`.
  void count();

  /// [B] -> [P]
  at::Tensor group_sum(const at::Tensor& per_rollout) const;
  /// [B] -> [P], mean_of each group
  at::Tensor group_mean(const at::Tensor& per_rollout, const at::Tensor& weight = {}) const;
  /// [B] -> [P]
  at::Tensor group_max(const at::Tensor& per_rollout) const;
  /// [B] -> [P]
  at::Tensor group_min(const at::Tensor& per_rollout) const;
  /// [B] -> [P] bool, by base/differing.hpp
  at::Tensor group_differs(const at::Tensor& per_rollout) const;
  /// [N] -> [B]
  at::Tensor rollout_sum(const at::Tensor& per_token) const;
  /// [N] -> [B], 0 for a rollout without tokens
  at::Tensor rollout_mean(const at::Tensor& per_token) const;
  /// [P] -> [B]
  at::Tensor over_rollouts(const at::Tensor& per_group) const;
  /// [B] -> [N]
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;
  /// First rollout of each group and the end of the last, [P+1]: for loops where tensors say it
  /// badly (medians, ranks, pairs).
  const std::vector<std::int64_t>& group_begin() const { return group_begin_; }

  /// Mean reward of the group, [B]. A group of one has nothing to compare with: its baseline is 0,
  /// so that its advantage is the plain
  /// reward (an unbiased estimate without a baseline; as verl and RLOO have it) rather than an
  /// identical zero.
  at::Tensor baseline() const;
  /// Standard deviation of the reward within the group, [B]: with n - 1, or n if `population`. A
  /// group of one has 1.
  at::Tensor spread(bool population = false) const;

  double horizon() const;  ///< the sampler's token limit; throws ConfigError when it states none
  /// throws ConfigError when the step does not carry it
  const at::Tensor& named(const std::string& name) const;
  double statistic(const std::string& name, double initial) const;
  /// [B] in [0, 1), addressed by seed, step and rollout key: no order, no rank
  at::Tensor uniform_rollouts(std::uint64_t purpose) const;
  /// [N] the same, with the token's place
  at::Tensor uniform_tokens(std::uint64_t purpose) const;

 private:
  std::vector<std::int64_t> group_begin_;
};

/// A micro-batch's tokens. `logprob`, `entropy`, `value` and `miss_logprob` are what the loss is
/// differentiated by; everything else is frozen.
class MicroBatchTensors {
 public:
  MicroBatchTensors(const Step& whole, const MicroBatchColumns& columns);

  const Step& step;
  at::Tensor logprob, entropy, value;  ///< [M], require grad; value: undefined where the
                                       ///< micro-batch brings none
  at::Tensor miss_logprob;  ///< [M], requires grad; undefined where the micro-batch brings none
  at::Tensor old_logprob, advantage;  ///< [M]

  std::int64_t tokens() const { return logprob.size(0); }
  std::int64_t rollouts() const { return length_.size(0); }       ///< L
  at::Tensor take(const at::Tensor& per_token) const;             ///< [N] -> [M]
  at::Tensor take_rollouts(const at::Tensor& per_rollout) const;  ///< [B] -> [L]
  at::Tensor rollout_sum(const at::Tensor& per_token) const;      ///< [M] -> [L], differentiable
  /// [M] -> [L], differentiable; 0 for a rollout without tokens
  at::Tensor rollout_mean(const at::Tensor& per_token) const;
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;  ///< [L] -> [M], differentiable

  /// For losses that couple a group (Knobs::needs_whole_groups): only rollouts with a trained token
  /// take part.
  at::Tensor present() const;   ///< [L] float64 1 or 0
  std::int64_t groups() const;  ///< groups of the micro-batch
  at::Tensor group() const;     ///< [L] int64, 0 .. groups()-1
  /// [L] -> [groups], differentiable
  at::Tensor group_sum(const at::Tensor& per_rollout) const;
  /// [L] -> [groups], over mask > 0; -inf where none
  at::Tensor group_logsumexp(const at::Tensor& per_rollout, const at::Tensor& mask) const;
  /// [groups] -> [L], differentiable
  at::Tensor over_group(const at::Tensor& per_group) const;
  /// Ordered pairs (i, j), i != j, of present rollouts of the same group: two [K] int64 columns of
  /// micro-batch rollouts.
  std::pair<at::Tensor, at::Tensor> pairs() const;
  void expect_whole_groups() const;  ///< throws std::logic_error

 private:
  std::int64_t first_ = 0;     // first token in the step, when the micro-batch's tokens lie side by
                               // side
  at::Tensor index_;           // [M] tokens in the step, otherwise
  at::Tensor length_;          // [L] int64
  at::Tensor rollouts_;        // [L] int64 rollouts of the step
  at::Tensor rollout() const;  // [M] int64, the rollout of each token within the micro-batch
};

}  // namespace rollcall::objective
