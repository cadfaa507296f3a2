// An objective: what makes a loss and its derivative of a step's token columns. Knows no model, no
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

/// Everything the whole step (or mini-batch) knows before the current policy is evaluated. Rollouts
/// are in canonical order:
/// ascending GroupId, then sample. All tensors on the CPU; reals are float64.
struct StepColumns {
  at::Tensor reward;           ///< [B]
  at::Tensor group;            ///< [B] int64, index 0..P-1 of the rollout's group, ascending
  at::Tensor prompt_level;     ///< [B] int64
  at::Tensor offsets;          ///< [B+1] int64: tokens of rollout i are offsets[i] .. offsets[i+1]
  at::Tensor old_logprob;      ///< [N] log-prob under the policy at the start of the update (the
                               ///< proximal policy)
  at::Tensor rollout_logprob;  ///< [N] log-prob stored by generation; equals old_logprob on-policy
  at::Tensor truncated;        ///< [B] bool: ended by the token limit
  double max_new_tokens = 0;   ///< horizon H
  at::Tensor replayed{};  ///< [B] bool: of an earlier step, trained on again; undefined: none. Only
                          ///< metrics look at it
  at::Tensor token;       ///< [N] int64 token ids; undefined: unknown
  at::Tensor key;  ///< [B] int64, the same for the same rollout in any order: addresses random
                   ///< choices; undefined: the rollout's place
  at::Tensor group_weight{};  ///< [P] float64 >= 0, what the scheduler multiplies the group's
                              ///< advantages with; undefined: all 1
  at::Tensor trains{};     ///< [B] float64, 0 for rollouts that count in their group's statistics
                           ///< only; undefined: all train
  std::uint64_t seed = 0;  ///< of the run, for random choices
  std::uint64_t step = 0;  ///< training step, from 0
  double progress = 0.0;   ///< share of the training steps already done, [0, 1]
  /// Optional columns by name, read by single pieces (Objective::columns() says which): per token
  /// [N] ("reference_logprob") or per rollout [B] ("prior").
  std::map<std::string, at::Tensor> named;
  /// Moving statistics that pieces left behind in the step before (Objective::statistics), by name;
  /// empty at the start of a run.
  std::map<std::string, double> statistics;
};

/// Columns of some rollouts of the step under the current policy.
struct MicroBatchColumns {
  std::vector<std::int64_t> rollouts;  ///< indices into StepColumns, ascending
  at::Tensor logprob, entropy;  ///< [M] float64, tokens of those rollouts one after the other
  at::Tensor value{};  ///< [M] float64, of the value head; only where Objective::needs_value()
  at::Tensor miss_logprob{};  ///< [M] float64, of draws beside an expert's token; only beside a
                              ///< column draw_hits
};

struct MicroBatchLoss {
  double loss = 0.0;  ///< this micro-batch's share; shares of all micro-batches sum to the step's
                      ///< loss
  at::Tensor dlogprob, dentropy;       ///< [M] float64
  at::Tensor dvalue;                   ///< [M] float64 where the micro-batch brought values
  at::Tensor dmiss_logprob{};          ///< [M] float64 where the micro-batch brought them
  std::vector<double> rollout_loss{};  ///< [L] mean surrogate loss of each rollout's tokens, before
                                       ///< weights and denominators; NaN for one without tokens
  /// Metric sums and extremes over this micro-batch's tokens, by name; see merge().
  std::map<std::string, double> sums, minima, maxima;
};

class MicroBatchTensors;  // columns.hpp
using Settings = std::vector<std::pair<std::string, std::string>>;

/// A recipe with its pieces and knobs resolved. Immutable; safe to share by threads.
class Objective {
 public:
  /// Throws ConfigError: unknown recipe, piece or knob (naming the nearest), or an impossible mix
  /// (naming the reason).
  Objective(const std::string& recipe, const Settings& pieces = {}, const Settings& knobs = {});
  ~Objective();

  /// Per-step preparation: advantages, weights, denominators (a Normalizer), computed once from the
  /// whole step.
  class Prepared;
  std::shared_ptr<const Prepared> prepare(const StepColumns& step) const;
  /// A step that several updates train on. What its rollouts say is taken once, from all of them:
  /// the pieces of reward, advantage and weight that do not read the policy of an update. Its
  /// statistics are those after the step. No micro-batch is evaluated on it.
  std::shared_ptr<const Prepared> prepare_step(const StepColumns& step) const;
  struct OfStep {
    std::shared_ptr<const Prepared> step;  ///< made by prepare_step
    std::vector<std::int64_t> rollouts;  ///< [B] which of its rollouts the update trains, ascending
  };
  /// One update of it: the step's rewards, advantages and weights of these rollouts, and what
  /// pieces make that read the update's policy. Denominators are its own. Its statistics are
  /// `update.statistics` with what those pieces change.
  std::shared_ptr<const Prepared> prepare(const StepColumns& update, OfStep of) const;
  /// Loss and derivative of one micro-batch. The sum over any cut into micro-batches is the same
  /// (to rounding).
  MicroBatchLoss evaluate(const Prepared& prepared, const MicroBatchColumns& micro_batch) const;

  /// [B] before a normalisation and before what a divergence costs; what is trained on in its
  /// place, where the loss does not read the reward (Knobs::trains_on).
  at::Tensor rewards(const StepColumns& step) const;
  bool pays_verifiers() const;  ///< rewards() are StepColumns::reward, whatever the rollouts
  std::vector<std::string> late_rewards() const;  ///< pieces of them that read what only the update
                                                  ///< knows
  std::string describe() const;  ///< pieces with formulas and knobs with values, one line each
  std::vector<std::string> columns() const;  ///< names that StepColumns::named must hold, see
                                             ///< columns.hpp
  std::vector<std::string> unset() const;    ///< knobs that no default can fill and neither row nor
                                             ///< run file has set, as family.knob
  bool needs_value() const;   ///< a piece trains the value head: leaves must bring its output
  bool whole_groups() const;  ///< the loss couples the rollouts of a group: a micro-batch must hold
                              ///< all of them
  /// Moving statistics after this step: what the next step is to be given. Those that no piece
  /// changed stay.
  static std::map<std::string, double> statistics(const Prepared& prepared);
  /// Mean |A| of each rollout's tokens, [B], before the scheduler's weights; NaN for one without
  /// tokens.
  static std::vector<double> rollout_advantages(const Prepared& prepared);
  /// Factor on this optimizer step's learning rate; 1 unless a piece scales it.
  static double lr_factor(const Prepared& prepared);

  struct Resolved;  ///< resolve.hpp
 private:
  enum class Part { all, step, update };  ///< which pieces run
  static bool runs(Part part, bool each_update) {
    return part == Part::all || each_update == (part == Part::update);
  }
  void note_moving(Prepared& prepared) const;
  void shape_rewards(Prepared& prepared, Part part) const;
  void estimate_advantage(Prepared& prepared, Part part) const;
  void weigh(Prepared& prepared, Part part) const;
  std::vector<double> rollout_loss(const Prepared& prepared, const MicroBatchTensors& micro_batch,
                                   const at::Tensor& ratio, const at::Tensor& loss) const;
  std::unique_ptr<Resolved> resolved_;
};

/// Folds micro-batch metrics into step metrics under the field's names: actor/pg_loss,
/// actor/ratio_min, actor/ratio_max, actor/ratio_mean, actor/pg_clipfrac, actor/ppo_kl,
/// actor/entropy, critic/advantages/{mean,min,max}, critic/score/{mean,min,max} (from the
/// verifier),
/// critic/rewards/{mean,min,max} (as shaped), critic/component/NAME/mean, critic/shaping/PIECE/mean
/// (what that reward piece added to the reward), critic/positive_share (sum of positive over sum of
/// absolute advantages of the trained rollouts; absent where all are 0). Of a step without leaves
/// (prepare_step) come the figures of its rollouts alone, critic/advantages and
/// critic/positive_share only where no update has a say in them. Ratio, ppo_kl, score and rewards
/// are those of the rollouts that the step's policy sampled; replayed ones have replay/ratio_min,
/// replay/ratio_max, replay/ratio_mean and replay/ppo_kl. Order of micro-batches fixes the
/// rounding.
std::map<std::string, double> merge(const Objective::Prepared& prepared,
                                    const std::vector<MicroBatchLoss>& micro_batches);

std::vector<std::string> recipe_names();

}  // namespace rollcall::objective
