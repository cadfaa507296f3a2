// What the scheduler hears of a step: the recipe's rewards before they are normalised, made of the
// same rollouts by the same pieces as the update makes them.
#pragma once

#include "core/run_config.hpp"
#include "method/method.hpp"
#include "run/messages/messages.hpp"
#include "run/step/step_batch.hpp"
#include "scheduling/scheduler.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// Whether a run's rewards, as its scheduler and its metrics hear them, are other than the
/// verifier's.
bool hears_recipe(const RunConfig& config, const method::Objective& objective);

/// Throws ConfigError where the scheduler, or the choice of what is replayed, would hear a reward
/// that only the update knows.
void check_hears(const RunConfig& config, const method::Objective& objective,
                 const scheduling::Scheduler& policy);

/// Whether scoring sends rollouts along, since the scheduler's rewards are made of them.
bool sends_rollouts(const RunConfig& config, const method::Objective& objective,
                    const scheduling::Scheduler& policy);

/// [groups][rollouts] of these columns, which hold the batch's groups in order, what each is paid
/// before normalisation.
std::vector<std::vector<double>> rewards_by_group(const method::Objective& objective,
                                                  const method::StepColumns& columns,
                                                  const StepBatch& batch);

/// Share of groups of two or more whose rewards are all equal, judge tasks aside; NaN where there
/// is none. `rewards`: [groups][rollouts] of the batch, of which those count that the step sampled
/// itself.
double equal_share(const StepBatch& batch, const std::vector<std::vector<double>>& rewards);

class HeardRewards {
 public:
  HeardRewards(const RunConfig& config, const method::Objective& objective, bool by_rollouts)
      : config_(&config), objective_(&objective), by_rollouts_(by_rollouts) {}
  void begin(std::uint64_t step, double progress) {
    step_ = step, progress_ = progress, rollouts_ = {};
  }
  /// What scoring sent of a shard (ScoredNotice::rollouts); empty where it sends nothing.
  void add(const std::string& rollouts);
  using Reports = std::vector<std::vector<GroupReport>*>;
  /// Rewrites rewards, and under task.shuffle_rewards who is correct; groups that leave the step
  /// with
  /// their greedy answer count as dropped. `reports`: of all rounds so far, or of the latest; all
  /// of
  /// them settled. `greedy`: of all rounds so far; empty where the recipe compares with none.
  void rewrite(const Reports& reports, const std::vector<GroupReport>& greedy = {}) const;
  /// The scheduler's next round. `latest`: of the round that came back; `so_far`: of all of them,
  /// this
  /// one too; both settled. Where verdicts are permuted the scheduler hears all of them anew: the
  /// permutation is of the step as it stands, so that what it decides by last is what the update
  /// trains on.
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
  StepBatch rollouts_{};  ///< of the step so far
};

}  // namespace rollcall::run
