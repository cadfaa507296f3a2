// The record of what a step trained on, which the update's leader writes for the archive. It has
// every rollout that was sampled, including those that left the step without a verdict.
#pragma once

#include "io/training_file.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::run {

class StepRecord {
 public:
  /// `sampled`: the step's own rollouts before any of them leaves it, in canonical order.
  StepRecord(std::uint64_t step, const StepBatch& sampled);
  /// The record. `batch`: the step as it trains, which may have other groups too; `advantage`:
  /// [rollouts of the batch].
  io::StepTraining of(const StepBatch& batch, const std::vector<double>& advantage) const;

 private:
  std::uint64_t step_;
  std::vector<Group> groups_;  ///< only ids and sample numbers
};

/// [rollouts of these groups] the advantage that all tokens of a rollout share; NaN for a rollout
/// without tokens. All are NaN where the tokens of any rollout differ, since the objective then has
/// an advantage per token. `by_token`: Prepared::token_advantages() of the same groups.
std::vector<double> shared_advantages(const StepBatch& batch,
                                      const std::vector<std::size_t>& groups,
                                      const std::vector<double>& by_token);

/// Copies the advantages of some groups, [rollouts of these groups], to their places in `all`,
/// [rollouts of the batch].
void put_advantages(const StepBatch& batch, const std::vector<std::size_t>& groups,
                    const std::vector<double>& of_groups, std::vector<double>& all);

}  // namespace rollcall::run
