// An objective as the stages see it: it takes a step's columns and returns a loss and its
// derivative. The code that computes them (src/objective, with LibTorch) is a shared library. It is
// loaded at the first use, because LibTorch takes 0.2 s and 110 MB to load and most commands never
// need it.
#pragma once

#include "method/columns.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcall::method {

enum class Family : std::size_t {
  reward,
  advantage,
  ratio,
  surrogate,
  weight,
  aggregate,
  regularizer
};
inline constexpr std::array<std::string_view, 7> family_names = {
    "reward", "advantage", "ratio", "surrogate", "weight", "aggregate", "regularizer"};

/// One paper: the pieces that its method consists of, and the settings that differ from their
/// defaults.
struct Recipe {
  std::string_view name, title, paper;
  int year = 0;
  std::array<std::string_view, 7> pieces;  ///< names by Family; several rewards, weights or
                                           ///< regularizers are joined by '+'
  std::vector<std::pair<std::string_view, std::string_view>> settings;
  std::string_view lacks = {};  ///< the part of the paper's method that this row lacks; empty: the
                                ///< row is complete
  std::string_view piece(Family family) const { return pieces[static_cast<std::size_t>(family)]; }
};

using Settings = std::vector<std::pair<std::string, std::string>>;

/// A step with its advantages, weights and denominators; immutable, and safe to share between
/// threads.
class Prepared {
 public:
  virtual ~Prepared() = default;
  /// Loss and derivative of one micro-batch. The sum over all micro-batches is the same however the
  /// step is cut (up to rounding).
  virtual MicroBatchLoss evaluate(const MicroBatchColumns& micro_batch) const = 0;
  /// Merges the metrics of all micro-batches into metrics for the step (see objective::merge). The
  /// order of micro-batches fixes the rounding.
  virtual std::map<std::string, double> merge(
      const std::vector<MicroBatchLoss>& micro_batches) const = 0;
  /// Moving statistics after this step, to be passed to the next step.
  virtual std::map<std::string, double> statistics() const = 0;
  /// [B] mean |A| of each rollout's tokens, before the scheduler's weights; NaN for a rollout
  /// without tokens.
  virtual std::vector<double> rollout_advantages() const = 0;
  /// [N] advantage of each token, before the scheduler's weights.
  virtual std::vector<double> token_advantages() const = 0;
  /// Factor for this optimizer step's learning rate; 1 unless a piece scales it.
  virtual double lr_factor() const = 0;
};

/// Where a recipe's reward comes from, before it is normalised.
struct RewardSource {
  bool is_verifiers = true;         ///< the reward equals the verifier's for every rollout
  std::vector<std::string> late{};  ///< names of the reward pieces that read values known only to
                                    ///< the update
  std::string in_place{};           ///< what the loss reads in place of the verifier's reward, as a
                                    ///< clause; empty: it reads the reward
};

/// What a rollout teaches if it is the only one for its prompt.
enum class LoneRollouts {
  teach_as_others,  ///< as other rollouts do, because a prompt's rollouts are not compared at all
  teach_plainly,    ///< its plain reward replaces the comparison with other rollouts
  teach_nothing,    ///< nothing: its reward does not change the derivative
};

/// What remains of a recipe in a step with a single update of the policy that sampled it, so that
/// every ratio is 1.
struct OnPolicy {
  std::vector<std::string> idle{};  ///< pieces that change no derivative, such as "weight tis"
  std::string acts_as{};            ///< a row that trains just as this one does; empty if there is
                                    ///< none
};

/// What a piece takes to be the verifier's largest reward.
struct LargestReward {
  std::string piece{};    ///< family and name, such as "advantage virtual_best"
  std::string setting{};  ///< the knob that sets it; empty: the piece compares with fractions of
                          ///< correct answers
  double reward = 1.0;
};

/// A piece that acts in part only on answers with at least a given number of tokens.
struct LeastLength {
  std::string piece{};    ///< family and name, such as "reward repetition"
  std::string setting{};  ///< the knob that sets the length
  double tokens = 0.0;
};

/// A recipe with its pieces and knobs resolved. Immutable, and safe to share between threads.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Prepares a step for a single update.
  virtual std::shared_ptr<const Prepared> prepare(const StepColumns& step) const = 0;
  /// Prepares a step for several updates. Pieces that do not read the policy of each update run
  /// once, here (METHODS.md, "Once a step, and at every update").
  virtual std::shared_ptr<const Prepared> prepare_step(const StepColumns& step) const = 0;
  /// Prepares one of several updates on a step. `step`: made by prepare_step; `rollouts`: [B] the
  /// step's rollouts that this update trains on, ascending.
  virtual std::shared_ptr<const Prepared> prepare_update(
      const StepColumns& update, const Prepared& step,
      std::vector<std::int64_t> rollouts) const = 0;
  /// [B] each rollout's reward, before normalisation and before the cost of a divergence. A
  /// scheduler learns from it.
  virtual std::vector<double> rewards(const StepColumns& step) const = 0;
  virtual RewardSource reward_source() const = 0;
  virtual bool reads_component(const std::string& name) const = 0;  ///< some piece reads column
                                                                    ///< component/NAME
  virtual bool reads_advantage() const = 0;  ///< the loss reads the advantages, which a scheduler
                                             ///< may scale
  virtual OnPolicy on_policy() const = 0;
  virtual std::vector<LargestReward> largest_rewards() const = 0;
  virtual std::vector<LeastLength> least_lengths() const = 0;
  virtual std::string describe() const = 0;  ///< pieces with formulas and knobs with values, one
                                             ///< line each
  virtual std::vector<std::string> columns() const = 0;  ///< names that StepColumns::named must
                                                         ///< hold
  virtual std::vector<std::string> unset() const = 0;    ///< knobs without a sensible default that
                                                         ///< neither row nor run file sets, as
                                                         ///< family.knob
  virtual bool needs_value() const = 0;  ///< a piece trains the value head: micro-batches must
                                         ///< bring its output
  virtual LoneRollouts lone_rollouts() const = 0;  ///< what a lone rollout teaches; found by a
                                                   ///< trial, which takes milliseconds
  virtual bool whole_groups() const = 0;           ///< the loss couples the rollouts of a group: a
                                                   ///< micro-batch must hold all of them
};

/// The functions of the shared library.
class Library {
 public:
  virtual std::unique_ptr<const Objective> make(const std::string& recipe, const Settings& pieces,
                                                const Settings& knobs) const = 0;
  virtual const std::vector<Recipe>& recipes() const = 0;
  virtual std::string torch_version() const = 0;  ///< such as "2.11.0"
  /// What determines the bits of a gradient besides the settings, for example "GenuineIntel family
  /// 6 model 143, LibTorch 2.11.0 (AVX512)".
  virtual std::string arithmetic() const = 0;

 protected:
  ~Library() = default;
};

/// Loads the shared library on the first call. Throws EnvironmentError when it is missing or comes
/// from another build.
const Library& library();

/// Throws ConfigError: unknown recipe, piece or knob (naming the nearest), or an impossible mix
/// (naming the reason).
inline std::unique_ptr<const Objective> make_objective(const std::string& recipe,
                                                       const Settings& pieces,
                                                       const Settings& knobs) {
  return library().make(recipe, pieces, knobs);
}

}  // namespace rollcall::method
