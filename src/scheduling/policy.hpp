// Rank 0's decisions as pure functions of numbers: which prompts, how many rollouts each. No clocks, files, MPI or tensors.
#pragma once

#include "base/id.hpp"
#include "core/plan.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// What the scheduler knows of the training prompts before it starts.
struct PromptTable {
  std::vector<std::int32_t> level;  ///< [prompts] indexed by PromptId
};

struct StepRequest {
  std::uint64_t step = 0;
  std::int64_t prompts = 0;                         ///< prompts to choose
  std::int64_t budget = 0;                          ///< rollouts to spend in total
  std::int64_t min_rollouts = 1, max_rollouts = 1;  ///< per prompt
};

/// A choice: budget[i] rollouts for prompt[i]; draws of the same prompt in one step are numbered.
struct Decision {
  std::vector<GroupPlan> groups;
  bool last_round = true;  ///< false: the policy wants to see this round's reports before it closes the step
};

/// Traits a user or a test may rely on.
struct PolicyTraits {
  bool exact_total = true;  ///< spends exactly StepRequest::budget in every step (2b.15)
};

/// One row of the table at work. The state is a value: save() and load() carry all of it, so resume equals no interruption.
class Policy {
 public:
  virtual ~Policy() = default;
  /// First round of a step. Throws ConfigError with the feasible range when the budget cannot be met.
  virtual Decision begin_step(const StepRequest& request) = 0;
  /// Further rounds, asked only after a decision with last_round == false, with the reports of the round before.
  virtual Decision next_round(const StepRequest& request, const std::vector<GroupReport>& reports) = 0;
  /// End of a step: everything the step's groups returned, ascending GroupId. All learning happens here.
  virtual void end_step(const std::vector<GroupReport>& reports) = 0;
  virtual PolicyTraits traits() const = 0;
  virtual std::string save() const = 0;             ///< JSON text with a format number
  virtual void load(const std::string& state) = 0;  ///< throws StorageError when it is not such a state
  /// Named numbers for the metrics: rollout_alloc/min, max, mean, std, entropy, total_budget, class_share/<level>.
  virtual std::vector<std::pair<std::string, double>> metrics() const = 0;
};

using Knobs = std::vector<std::pair<std::string, std::string>>;
/// Throws ConfigError on an unknown row or knob, naming the nearest.
std::unique_ptr<Policy> make_policy(const std::string& row, const Knobs& knobs, const PromptTable& prompts, std::uint64_t seed);
std::vector<std::string> policy_names();

/// Integer counts n_i in [low, high] that sum to `total` exactly and follow `weight` as closely as the bounds allow: bounded largest-remainder
/// apportionment, ties by index. Throws ConfigError when low * size <= total <= high * size does not hold.
/// Throws NumericsError for a weight that is negative or not finite.
std::vector<std::int64_t> apportion(const std::vector<double>& weight, std::int64_t total, std::int64_t low, std::int64_t high);

}  // namespace rollcall::scheduling
