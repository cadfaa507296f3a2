// Rank 0's decisions as pure functions of numbers: which prompts, how many rollouts each, which of
// them train. No clocks, files, MPI or tensors.
#pragma once

#include "base/id.hpp"
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

/// What the scheduler knows of the training prompts before it starts.
struct PromptTable {
  std::vector<std::int32_t> level{};   ///< [prompts] indexed by PromptId
  std::vector<std::int32_t> domain{};  ///< [prompts] task or category; empty: all in domain 0
  std::vector<float> prior{};  ///< [prompts] success expected before anything is seen, by any value
                               ///< model; empty: none
  SuccessSection law{};  ///< how their tracked success fades: the run's, which its objective reads
                         ///< too
  std::vector<std::uint64_t> content{};  ///< [prompts] hash of what a prompt is; empty: not known,
                                         ///< and a state then fits tables of its size only
  std::size_t size() const { return level.size(); }
};

/// What loading a state did to the prompts it knew.
struct LoadReport {
  bool same_prompts = true;
  std::uint64_t kept = 0, fresh = 0, gone = 0;  ///< prompts in state and table, in the table only
                                                ///< (they start anew), in the state only
                                                ///< (forgotten)
  std::vector<std::string> restarted{};  ///< pieces whose state could not follow changed prompts:
                                         ///< they begin anew
};

struct StepRequest {
  std::uint64_t step = 0;
  std::int64_t prompts = 0;                         ///< prompts to choose
  std::int64_t budget = 0;                          ///< rollouts to spend in total
  std::int64_t min_rollouts = 1, max_rollouts = 1;  ///< per prompt
  double progress = 0.0;  ///< share of the run that is done, [0, 1): schedules follow it
  /// Ascending; the only prompts that may be chosen in this step. Empty: all. When there are no
  /// more of them than are to be chosen, they are the choice.
  std::vector<PromptId> candidates{};
};

/// A choice: budget[i] rollouts for prompt[i]; draws of the same prompt in one step are numbered.
struct Decision {
  std::vector<GroupPlan> groups{};
  bool last_round = true;  ///< false: the policy wants to see this round's reports before it closes
                           ///< the step
  std::vector<double> probability{};  ///< [groups] chance of each choice as the sampler states it;
                                      ///< empty: it states none
};

/// How one group enters the update. Groups without an entry enter with weight 1 and all their
/// rollouts.
struct GroupTraining {
  GroupId id;
  double weight = 1.0;               ///< multiplies the group's advantages
  std::vector<std::uint8_t> keep{};  ///< [n] 1: trains; 0: counts in the group's statistics only.
                                     ///< Empty: all train
};

/// Ascending GroupId.
struct Training {
  std::vector<GroupTraining> groups{};
  std::int64_t drawn = 0, trained = 0;  ///< rollouts
};

/// What a policy cannot do without: a field of PromptTable or GroupReport that is optional for
/// others, and for which nothing stands in.
struct Need {
  std::string field{};    ///< domain, prior, diversity or predicted
  std::string reason{};   ///< what the policy does with it
  std::string measure{};  ///< of a diversity: a row of diversity_measures()
};

/// Bounds of a step within which a policy cannot be what its name says.
struct Shortage {
  std::string problem{};  ///< with the settings of the run file that make it
  std::string remedy{};
};

/// Traits a user or a test may rely on.
struct PolicyTraits {
  bool exact_total = true;  ///< draws exactly StepRequest::budget in every step; otherwise never
                            ///< more than hard_cap()
};

/// A state cut for checkpoints, which write of it what has changed. The prompts' contents, the same
/// for a whole run, are its third part.
struct PolicyParts {
  std::string head{};  ///< JSON with a format number: what does not go by prompts
  PromptRows rows{};
};
enum class Rows {
  all,
  changed
};  ///< of all prompts that the policy knows something of; of those
    ///< that changed since rows were taken last

/// One row of the table at work. The state is a value: save() and load() carry all of it, so resume
/// equals no interruption.
/// A step is begin_step, any number of next_round, settle, end_step. State is saved between steps
/// only.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  /// First round of a step. Throws ConfigError with the feasible range when the budget cannot be
  /// met.
  virtual Decision begin_step(const StepRequest& request) = 0;
  /// Further rounds, asked only after a decision with last_round == false, with the reports of the
  /// round before.
  virtual Decision next_round(const StepRequest& request,
                              const std::vector<GroupReport>& reports) = 0;
  /// Before next_round: what the rounds so far reported is this now, ascending GroupId, as where
  /// verdicts are permuted over a step that grows. next_round then has no reports of its own.
  virtual void hear_again(std::vector<GroupReport> reports) = 0;
  /// All rounds are in: what of it trains, and how strongly. `reports`: everything the step
  /// returned, ascending GroupId.
  virtual Training settle(const StepRequest& request, const std::vector<GroupReport>& reports) = 0;
  /// End of a step, after the update: the same reports, now with loss and mean_abs_advantage. All
  /// learning happens here.
  virtual void end_step(const std::vector<GroupReport>& reports) = 0;
  virtual PolicyTraits traits() const = 0;
  virtual std::vector<Need> needs() const { return {}; }  ///< of the stages that feed it
  virtual bool hears_rewards() const {
    return true;
  }  ///< it reads GroupReport::rewards, and not
     ///< only who was right
  /// Whether steps of these bounds and this budget leave it no room, so that it would draw as
  /// another, plainer policy does.
  virtual std::optional<Shortage> shortage(const StepRequest&) const { return std::nullopt; }
  /// what a user should know of its knobs, one sentence each
  virtual std::vector<std::string> warnings() const { return {}; }
  /// most rollouts a step of this request draws, over all its rounds
  virtual std::int64_t hard_cap(const StepRequest& request) const = 0;
  virtual std::int64_t most_rounds() const { return 1; }  ///< that a step takes
  virtual std::string save() const = 0;                   ///< JSON text with a format number
  /// The same in parts. Rows::changed: the rows complete those of the call before, which update()
  /// of prompt_rows.hpp puts together.
  virtual PolicyParts save_parts(Rows which) = 0;
  /// as load()
  virtual LoadReport load_parts(const PolicyParts& parts,
                                const std::vector<std::uint64_t>& content) = 0;
  /// PromptTable::content
  virtual const std::vector<std::uint64_t>& content() const = 0;
  /// Before the first step. Throws StorageError when it is not such a state. Prompts are recognised
  /// by PromptTable::content, wherever they stand now.
  virtual LoadReport load(const std::string& state) = 0;
  /// What a user may want to see of a prompt: its difficulty bin (-1: the policy has no bins) and
  /// the weight its advantages would get now.
  virtual std::int32_t bin(PromptId prompt) const = 0;
  virtual double weight(PromptId prompt) const = 0;
  /// Named numbers for the metrics: rollout_alloc/min, max, mean, std, entropy, total_budget,
  /// class_share/<level>; then those of the pieces (gdro/*, ...).
  virtual std::vector<std::pair<std::string, double>> metrics() const = 0;
};

using Knobs = std::vector<std::pair<std::string, std::string>>;

/// A row of the table, and pieces that replace the row's by name (empty: the row's own).
struct SchedulerChoice {
  std::string row{};
  std::string sampler{}, allocator{}, rounds{}, selection{};
};

/// Throws ConfigError on an unknown row, piece or knob, naming the nearest.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerChoice& choice, const Knobs& knobs,
                                          PromptTable prompts, std::uint64_t seed);
std::vector<std::string> policy_names();

/// Integer counts n_i in [low, high] that sum to `total` exactly and follow `weight` as closely as
/// the bounds allow: bounded largest-remainder apportionment, ties by index. Throws ConfigError
/// when low * size <= total <= high * size does not hold.
/// Throws NumericsError for a weight that is negative or not finite.
std::vector<std::int64_t> apportion(const std::vector<double>& weight, std::int64_t total,
                                    std::int64_t low, std::int64_t high);
/// What apportion() checks of its numbers.
void check_budget(std::int64_t size, std::int64_t total, std::int64_t low, std::int64_t high);

}  // namespace rollcall::scheduling
