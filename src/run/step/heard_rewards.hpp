// The rewards that the scheduler receives: those of the recipe before normalisation, made of the
// same rollouts and by the same pieces as in the update.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/step_batch.hpp"
#include "scheduling/scheduler.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// Whether scheduler and metrics receive rewards of the recipe rather than those of the verifier.
bool hears_recipe(const RunConfig& config, const method::Objective& objective);

/// Throws ConfigError where the scheduler, or the choice of replayed groups, would need a reward
/// that only the update knows.
void check_hears(const RunConfig& config, const method::Objective& objective,
                 const scheduling::Scheduler& policy);

/// Whether scoring sends rollouts to rank 0, because the scheduler's rewards are made of them.
bool sends_rollouts(const RunConfig& config, const method::Objective& objective,
                    const scheduling::Scheduler& policy);

/// [groups][rollouts] the recipe's rewards before normalisation. `columns`: of the batch's groups,
/// in their order.
std::vector<std::vector<double>> rewards_by_group(const method::Objective& objective,
                                                  const method::StepColumns& columns,
                                                  const StepBatch& batch);

/// The share of groups with equal rewards among the groups of two or more rollouts, without judge
/// tasks. NaN if there is no group of two or more. `rewards`: [groups][rollouts] of the batch. Only
/// rollouts that the step sampled itself count.
double equal_share(const StepBatch& batch, const std::vector<std::vector<double>>& rewards);

class HeardRewards {
 public:
  HeardRewards(const RunConfig& config, const method::Objective& objective, bool by_rollouts)
      : config_(&config), objective_(&objective), by_rollouts_(by_rollouts) {}
  void begin(std::uint64_t step, double progress) {
    step_ = step, progress_ = progress, rollouts_ = {};
  }
  /// Adds the rollouts that scoring sent of a shard (ScoredNotice::rollouts); empty where it sends
  /// none.
  void add(const std::string& rollouts);
  using Reports = std::vector<std::vector<GroupReport>*>;
  /// Replaces the rewards in the reports, and under task.shuffle_rewards also which rollouts are
  /// correct. A group that leaves the step with its greedy answer counts as dropped. `reports`: of
  /// all rounds so far or of the latest, with all rewards settled. `greedy`: of all rounds so far;
  /// empty where the recipe reads no greedy answers.
  void rewrite(const Reports& reports, const std::vector<GroupReport>& greedy = {}) const;
  /// Asks the scheduler for the next round. `latest`: reports of the round that came back;
  /// `so_far`: of all rounds including it; both settled. If verdicts are permuted, the scheduler
  /// receives all of them again, because the permutation is over the step so far. Its last decision
  /// is then based on the rewards that the update trains on.
  scheduling::Decision next_round(scheduling::Scheduler& scheduler,
                                  const scheduling::StepRequest& request,
                                  std::vector<GroupReport> latest, std::vector<GroupReport> so_far,
                                  const std::vector<GroupReport>& greedy) const;

 private:
  static StepBatch as_reported(const Reports& reports);
  std::vector<std::vector<double>> paid(const StepBatch& step) const;

  const RunConfig* config_;
  const method::Objective* objective_;
  bool by_rollouts_;
  std::uint64_t step_ = 0;
  double progress_ = 0.0;
  StepBatch rollouts_{};  ///< all rollouts of the step so far
};

}  // namespace rollcall::run
