// An objective turns a step's token columns into a loss and its derivative. It knows no model, no
// batch shape and no rank.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::objective {

/// Everything that is known about the whole step (or mini-batch) before the current policy is
/// evaluated. Rollouts are in canonical order: ascending GroupId, then sample. All tensors are on
/// the CPU; real numbers are float64. Letters: B rollouts, P prompts (groups), N policy tokens.
struct StepColumns {
  at::Tensor reward;          ///< [B]
  at::Tensor group;           ///< [B] int64, index 0..P-1 of the rollout's group, ascending
  at::Tensor prompt_level;    ///< [B] int64
  at::Tensor offsets;         ///< [B+1] int64: rollout i has the tokens offsets[i] .. offsets[i+1]
  at::Tensor turn_offsets{};  ///< [B+1] int64: rollout i has the policy turns turn_offsets[i] ..
                              ///< turn_offsets[i+1]; undefined: one turn for each rollout
  at::Tensor turn_begin{};    ///< [K+1] int64: first token of each turn, then N; undefined likewise
  at::Tensor old_logprob;     ///< [N] log-prob under the policy at the start of the update (the
                              ///< proximal policy)
  at::Tensor rollout_logprob;  ///< [N] log-prob stored by generation; equals old_logprob on-policy
  at::Tensor truncated;        ///< [B] bool: ended by the limit of tokens or turns
  double max_new_tokens = 0;   ///< horizon H, in tokens
  at::Tensor replayed{};       ///< [B] bool: sampled in an earlier step and trained on again;
                               ///< undefined: none. Only metrics look at it
  at::Tensor token;            ///< [N] int64 token ids; undefined: unknown
  at::Tensor key;              ///< [B] int64, addresses random choices; a rollout has the same key
                               ///< in any order; undefined: the rollout's place
  at::Tensor group_weight{};   ///< [P] float64 >= 0, the scheduler's factor on the group's
                               ///< advantages; undefined: all 1
  at::Tensor trains{};         ///< [B] float64, 0 for rollouts that count in their group's
                               ///< statistics only; undefined: all train
  std::uint64_t seed = 0;      ///< of the run, for random choices
  std::uint64_t step = 0;      ///< training step, from 0
  double progress = 0.0;       ///< share of the training steps already done, [0, 1]
  /// Optional columns by name, which single pieces read (Objective::columns() lists them): per
  /// token [N] ("reference_logprob"), per rollout [B] ("prior") or per turn [K] ("turn/reward").
  std::map<std::string, at::Tensor> named;
  /// Moving statistics after the previous step (Objective::statistics), by name; empty at the start
  /// of a run.
  std::map<std::string, double> statistics;
};

/// Columns of some rollouts of the step under the current policy. Letters: L rollouts, M tokens.
struct MicroBatchColumns {
  std::vector<std::int64_t> rollouts;  ///< [L] indices into StepColumns, ascending
  at::Tensor logprob, entropy;         ///< [M] float64, the tokens of those rollouts in their order
  at::Tensor value{};  ///< [M] float64, of the value head; only where Objective::needs_value()
  at::Tensor miss_logprob{};  ///< [M] float64, for the tokens of experts: sum of share * log-prob
                              ///< over the other tokens that were drawn in their place; only where
                              ///< the step has a column draw_hits
};

/// The contribution of one micro-batch to the step's loss.
struct MicroBatchLoss {
  double loss = 0.0;  ///< this micro-batch's share; the shares of all micro-batches sum to the
                      ///< step's loss
  at::Tensor dlogprob, dentropy;       ///< [M] float64, derivatives of the loss
  at::Tensor dvalue;                   ///< [M] float64 where the micro-batch brought values
  at::Tensor dmiss_logprob{};          ///< [M] float64 where the micro-batch brought miss_logprob
  std::vector<double> rollout_loss{};  ///< [L] mean surrogate loss of each rollout's tokens, before
                                       ///< weights and denominators; NaN for one without tokens
  /// Metric sums and extremes over this micro-batch's tokens, by name; see merge().
  std::map<std::string, double> sums, minima, maxima;
};

using Settings = std::vector<std::pair<std::string, std::string>>;

/// A recipe with its pieces and knobs resolved. Immutable; safe to share by threads.
class Objective {
 public:
  /// Throws ConfigError: unknown recipe, piece or knob (naming the nearest), or an impossible mix
  /// (naming the reason).
  Objective(const std::string& recipe, const Settings& pieces = {}, const Settings& knobs = {});
  ~Objective();

  /// A step with its advantages, weights and denominators (a Normalizer).
  class Prepared;
  /// Prepares a step that one update trains on. It is done once, from the whole step.
  std::shared_ptr<const Prepared> prepare(const StepColumns& step) const;
  /// Prepares a step that several updates train on. The pieces of reward, advantage and weight that
  /// do not read the policy of an update run here, once, on all rollouts of the step. The result
  /// carries the statistics after the step. No micro-batch is evaluated on it.
  std::shared_ptr<const Prepared> prepare_step(const StepColumns& step) const;
  struct OfStep {
    std::shared_ptr<const Prepared> step;  ///< made by prepare_step
    std::vector<std::int64_t> rollouts;    ///< [B] the step's rollouts that the update trains on,
                                           ///< ascending
  };
  /// Prepares one update of such a step. The update takes the rewards, advantages and weights that
  /// the step has for these rollouts, and runs the pieces that read its policy. The denominators
  /// are the update's own. The statistics are `update.statistics` with the changes of those pieces.
  std::shared_ptr<const Prepared> prepare(const StepColumns& update, OfStep of) const;
  /// Loss and derivative of one micro-batch. The sum over all micro-batches is the same for any cut
  /// of the step (to rounding).
  MicroBatchLoss evaluate(const Prepared& prepared, const MicroBatchColumns& micro_batch) const;

  /// [B] the reward of each rollout, before a normalisation and before the cost of a divergence. If
  /// the loss does not read the reward, these are the numbers on which it trains instead
  /// (RewardUse::trains_on). If a different quantity decides which groups learn, a group that
  /// learns nothing has equal numbers (RewardUse::gates).
  at::Tensor rewards(const StepColumns& step) const;
  bool pays_verifiers() const;  ///< rewards() equals StepColumns::reward for all rollouts
  /// The quantity that the loss reads in place of the verifier's reward, as a clause; empty: it
  /// reads the reward.
  std::string in_place_of_verifiers() const;
  bool reads_component(const std::string& name) const;  ///< some piece reads column component/NAME
  /// Names of the reward pieces that read columns known only in the update.
  std::vector<std::string> late_rewards() const;
  std::string describe() const;  ///< pieces with formulas and knobs with values, one line each
  std::vector<std::string> columns() const;  ///< names that StepColumns::named must hold, see
                                             ///< method/columns.hpp
  std::vector<std::string> unset() const;    ///< knobs without a sensible default that neither row
                                             ///< nor run file has set, as family.knob
  bool needs_value() const;  ///< a piece trains the value head: micro-batches must bring its output
  bool whole_groups() const;  ///< the loss couples the rollouts of a group: a micro-batch must hold
                              ///< all of them
  /// Moving statistics after this step, to be passed to the next step. Statistics that no piece
  /// changed keep their values.
  static std::map<std::string, double> statistics(const Prepared& prepared);
  /// [B] mean |A| of each rollout's tokens, before the scheduler's weights; NaN for a rollout
  /// without tokens.
  static std::vector<double> rollout_advantages(const Prepared& prepared);
  /// Factor on this optimizer step's learning rate; 1 unless a piece scales it.
  static double lr_factor(const Prepared& prepared);

  struct Resolved;  ///< defined in resolve.hpp
  const Resolved& resolved() const { return *resolved_; }

 private:
  std::unique_ptr<Resolved> resolved_;
};

/// Merges the metrics of micro-batches into metrics of the step, under the field's names:
/// - actor/pg_loss, actor/pg_clipfrac, actor/entropy, actor/ratio_min, actor/ratio_max,
///   actor/ratio_mean, actor/ppo_kl;
/// - critic/advantages/{mean,min,max}, critic/score/{mean,min,max} (the verifier's rewards),
///   critic/rewards/{mean,min,max} (as the reward pieces shaped them), critic/component/NAME/mean;
/// - critic/shaping/PIECE/mean: the amount by which that reward piece changed the reward;
/// - critic/positive_share: sum of positive over sum of absolute advantages of the trained
///   rollouts; absent where all are 0.
/// A step from prepare_step has no micro-batches. It gets only the figures of its rollouts, and it
/// gets critic/advantages and critic/positive_share only if no piece acts at every update. Ratio,
/// ppo_kl, score and rewards are taken over rollouts that the step's policy sampled. Replayed
/// rollouts have replay/ratio_min, replay/ratio_max, replay/ratio_mean and replay/ppo_kl. The order
/// of micro-batches fixes the rounding.
std::map<std::string, double> merge(const Objective::Prepared& prepared,
                                    const std::vector<MicroBatchLoss>& micro_batches);

std::vector<std::string> recipe_names();

}  // namespace rollcall::objective
