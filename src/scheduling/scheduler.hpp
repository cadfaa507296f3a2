// The decisions of rank 0 as pure functions of numbers: which prompts to ask, how many rollouts
// each gets, and which of them train. There are no clocks, files, MPI or tensors here.
#pragma once

#include "base/numbers/id.hpp"
#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "scheduling/prompts/prompt_rows.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// What the scheduler knows about the training prompts before it starts.
struct PromptTable {
  std::vector<std::int32_t> level{};   ///< [prompts] indexed by PromptId
  std::vector<std::int32_t> domain{};  ///< [prompts] task or category; empty: all in domain 0
  std::vector<float> prior{};  ///< [prompts] success that a value model expects before any result;
                               ///< empty: none
  SuccessSection law{};  ///< how the prompts' tracked success fades; the run's objective reads the
                         ///< same settings
  std::vector<std::uint64_t> content{};  ///< [prompts] hash of the prompt's content; empty:
                                         ///< unknown, and a state then fits only tables of its size
  std::vector<std::uint8_t> tiers{};  ///< [prompts] tiers of help that the prompt has; empty: every
                                      ///< tier that scheduler.knobs.hint_tiers asks for
  std::size_t size() const { return level.size(); }
};

/// What happened to the prompts of a state when it was loaded.
struct LoadReport {
  bool same_prompts = true;
  /// Numbers of prompts: those in both the state and the table, those in the table only, which
  /// start without results, and those in the state only, which are forgotten.
  std::uint64_t kept = 0, fresh = 0, gone = 0;
  std::vector<std::string> restarted{};  ///< pieces that start without a state, because their saved
                                         ///< one does not fit the changed prompts
};

struct StepRequest {
  std::uint64_t step = 0;
  std::int64_t prompts = 0;                         ///< prompts to choose
  std::int64_t budget = 0;                          ///< rollouts to spend in total
  std::int64_t min_rollouts = 1, max_rollouts = 1;  ///< rollouts per prompt
  double progress = 0.0;  ///< share of the run that is done, [0, 1); schedules follow it
  /// The only prompts that may be chosen in this step, ascending; empty: all. When there are at
  /// most `prompts` of them, all of them are chosen.
  std::vector<PromptId> candidates{};
};

/// The groups of a round: prompts with their rollout counts. Several draws of the same prompt in
/// one step are numbered.
struct Decision {
  std::vector<GroupPlan> groups{};
  bool last_round = true;  ///< false: the scheduler decides on another round after this round's
                           ///< reports
  std::vector<double> probability{};  ///< [groups] chance of each choice as the sampler states it;
                                      ///< empty: the sampler states none
};

/// How one group enters the update. Groups without an entry enter with weight 1 and all their
/// rollouts.
struct GroupTraining {
  GroupId id;
  double weight = 1.0;               ///< multiplies the group's advantages
  std::vector<std::uint8_t> keep{};  ///< [n] 1: the rollout trains; 0: it counts in the group's
                                     ///< statistics only. Empty: all train
};

/// How a step enters the update; groups ascend by GroupId.
struct Training {
  std::vector<GroupTraining> groups{};
  std::int64_t drawn = 0, trained = 0;  ///< numbers of rollouts
};

/// A field of PromptTable or GroupReport that this scheduler needs. Other schedulers work without
/// it.
struct Need {
  std::string field{};    ///< domain, prior, diversity or predicted
  std::string reason{};   ///< what the scheduler uses it for
  std::string measure{};  ///< for a diversity: a row of diversity_measures()
};

/// Bounds of a step that leave a scheduler no choice, so that it would act like a plainer one.
struct Shortage {
  std::string problem{};  ///< it names the settings of the run file that cause it
  std::string remedy{};
};

/// What a run may rely on, and what it must provide. It depends only on row, pieces and knobs, so
/// it is the same for the whole run.
struct PolicyTraits {
  bool exact_total = true;       ///< every step draws exactly StepRequest::budget rollouts;
                                 ///< otherwise a step draws at most hard_cap()
  std::int64_t most_rounds = 1;  ///< of a step
  std::int64_t tiers = 0;        ///< highest tier of help that it gives; 0: none
  bool hears_rewards = true;     ///< the scheduler reads GroupReport::rewards, not only which are
                                 ///< correct
  bool weighs = false;  ///< it multiplies advantages of groups by weights that may differ from 1
  std::vector<Need> needs{};
  std::vector<std::string> warnings{};  ///< what a user should know about its knobs, one sentence
                                        ///< each
};

/// A state in parts, because a checkpoint writes only the rows that have changed. The third part is
/// the prompts' contents (Scheduler::content), which are the same for the whole run.
struct PolicyParts {
  std::string head{};  ///< JSON with a format number: the part that is not per prompt
  PromptRows rows{};
};
/// Rows of all prompts whose row differs from the start, or only of prompts that have changed since
/// rows were last taken.
enum class Rows { all, changed };

/// Chooses prompts and budgets. A scheduler is a row of the table of schedulers with its state.
/// save() and load() cover the whole state, so a resumed run equals one without interruption. A
/// step is begin_step, any number of next_round, settle, end_step. The state is saved between steps
/// only.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// First round of a step. Throws ConfigError with the feasible range when the budget cannot be
  /// met.
  virtual Decision begin_step(const StepRequest& request) = 0;
  /// A further round, after a decision with last_round == false, with the reports of the previous
  /// round.
  virtual Decision next_round(const StepRequest& request,
                              const std::vector<GroupReport>& reports) = 0;
  /// Replaces the reports of all rounds so far by these (ascending GroupId), for runs that permute
  /// verdicts over the whole step. The next_round that follows has no reports of its own.
  virtual void hear_again(std::vector<GroupReport> reports) = 0;
  /// Called after the last round: which rollouts train, and with what weight. `reports`: all
  /// results of the step, ascending GroupId.
  virtual Training settle(const StepRequest& request, const std::vector<GroupReport>& reports) = 0;
  /// Called at the end of a step, after the update. The reports are the same, now with loss and
  /// mean_abs_advantage. All learning happens here.
  virtual void end_step(const std::vector<GroupReport>& reports) = 0;
  virtual const PolicyTraits& traits() const = 0;
  /// A shortage if the bounds, the budget or the prompts of the table leave the scheduler no
  /// choice, so that it would draw like a plainer scheduler. A table with a single prompt means
  /// that the prompts are not known yet.
  virtual std::optional<Shortage> shortage(const StepRequest&) const { return std::nullopt; }
  /// The largest number of rollouts that a step with this request draws, over all its rounds.
  virtual std::int64_t hard_cap(const StepRequest& request) const = 0;
  virtual std::string save() const = 0;  ///< JSON text with a format number
  /// The same state in parts. With Rows::changed, the rows replace those that earlier calls
  /// returned for the same prompts. update() in prompt_rows.hpp merges them.
  virtual PolicyParts save_parts(Rows which) = 0;
  /// Loads a state from parts, as load() does from text. `content`: the prompts' contents when it
  /// was saved.
  virtual LoadReport load_parts(const PolicyParts& parts,
                                const std::vector<std::uint64_t>& content) = 0;
  /// The prompts' contents, as in PromptTable.
  virtual const std::vector<std::uint64_t>& content() const = 0;
  /// Loads a state, before the first step. Throws StorageError when `state` did not come from
  /// save(). Prompts are recognised by PromptTable::content, whatever their ids are now.
  virtual LoadReport load(const std::string& state) = 0;
  /// The prompt's difficulty bin; -1: the policy has no bins.
  virtual std::int32_t bin(PromptId prompt) const = 0;
  /// The weight that would multiply the prompt's advantages now.
  virtual double weight(PromptId prompt) const = 0;
  /// Named numbers for the metrics: rollout_alloc/min, max, mean, std, entropy, total_budget,
  /// class_share/<level>; then those of the pieces (gdro/*, ...).
  virtual std::vector<std::pair<std::string, double>> metrics() const = 0;
};

using Knobs = std::vector<std::pair<std::string, std::string>>;

/// A row of the table, and names of pieces that replace the row's (an empty name keeps the row's
/// piece).
struct SchedulerChoice {
  std::string row{};
  std::string sampler{}, allocator{}, rounds{}, selection{};
};

/// Throws ConfigError on an unknown row, piece or knob, and names the closest known one.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerChoice& choice, const Knobs& knobs,
                                          PromptTable prompts, std::uint64_t seed);
std::vector<std::string> policy_names();

/// Integer counts n_i in [low, high] that sum to `total` exactly and follow `weight` as closely as
/// the bounds allow: bounded largest-remainder apportionment, ties by index. Throws ConfigError
/// when low * size <= total <= high * size does not hold.
/// Throws NumericsError for a weight that is negative or not finite.
std::vector<std::int64_t> apportion(const std::vector<double>& weight, std::int64_t total,
                                    std::int64_t low, std::int64_t high);
/// Throws ConfigError when low * size <= total <= high * size or 0 <= low <= high does not hold.
void check_budget(std::int64_t size, std::int64_t total, std::int64_t low, std::int64_t high);

}  // namespace rollcall::scheduling
