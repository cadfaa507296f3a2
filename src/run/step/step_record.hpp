// What a step trained on, as the update's leader notes it for the archive: of every rollout that
// was sampled, also of those that left the step without a verdict.
#pragma once

#include "io/training_file.hpp"
#include "run/step/step_batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::run {

class StepRecord {
 public:
  /// `sampled`: the step's own rollouts before any of them has left it, in canonical order.
  StepRecord(std::uint64_t step, const StepBatch& sampled);
  /// `batch`: the step as it trains, whatever was added to it; `advantage`: [rollouts of the
  /// batch].
  io::StepTraining of(const StepBatch& batch, const std::vector<double>& advantage) const;

 private:
  std::uint64_t step_;
  std::vector<Group> groups_;  ///< ids and samples alone
};

/// [rollouts of these groups] the advantage that all tokens of a rollout share, NaN for one without
/// tokens. All NaN where the tokens of any rollout differ: the objective then has an advantage a
/// token. `by_token`: Prepared::token_advantages of the same groups.
std::vector<double> shared_advantages(const StepBatch& batch,
                                      const std::vector<std::size_t>& groups,
                                      const std::vector<double>& by_token);

/// Puts those of some groups, [rollouts of these groups], into those of all, [rollouts of the
/// batch].
void put_advantages(const StepBatch& batch, const std::vector<std::size_t>& groups,
                    const std::vector<double>& of_groups, std::vector<double>& all);

}  // namespace rollcall::run
