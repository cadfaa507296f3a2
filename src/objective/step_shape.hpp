// The shape of a step: which rollouts form a group and which tokens form a rollout, with sums,
// means and copies along the two.
// Letters: B rollouts of the step, P prompts (groups), N policy tokens.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace rollcall::objective {

/// Rollouts of a group are adjacent, and so are the tokens of a rollout. Every function returns a
/// new column and takes about as many tensor operations for a thousand rollouts as for one.
class StepShape {
 public:
  /// group: [B] int64, 0..P-1 without gaps, ascending. offsets: [B+1] int64, ascending. Throws
  /// std::logic_error if one of the two does not fit this.
  StepShape(at::Tensor group_of_rollout, const at::Tensor& offsets);

  at::Tensor group;                                    ///< [B] int64, the group of each rollout
  std::int64_t rollouts = 0, prompts = 0, tokens = 0;  ///< B, P, N
  at::Tensor rollout;                                  ///< [N] int64, the rollout of each token
  at::Tensor place;       ///< [N] int64, the token's place in its rollout, from 0
  at::Tensor length;      ///< [B] float64, policy tokens of each rollout
  at::Tensor group_size;  ///< [P] float64, rollouts of each group, at least 1

  /// [B] -> [P]
  at::Tensor group_sum(const at::Tensor& per_rollout) const;
  /// [B] -> [P], mean_of each group (objective/columns.hpp)
  at::Tensor group_mean(const at::Tensor& per_rollout, const at::Tensor& weight = {}) const;
  /// [B] -> [P]
  at::Tensor group_max(const at::Tensor& per_rollout) const;
  /// [B] -> [P]
  at::Tensor group_min(const at::Tensor& per_rollout) const;
  /// [B] -> [P] bool, whether values of a group differ as defined in base/numbers/differing.hpp
  at::Tensor group_differs(const at::Tensor& per_rollout) const;
  /// [N] -> [B]
  at::Tensor rollout_sum(const at::Tensor& per_token) const;
  /// [N] -> [B], 0 for a rollout without tokens
  at::Tensor rollout_mean(const at::Tensor& per_token) const;
  /// [P] -> [B], each rollout gets the value of its group
  at::Tensor over_rollouts(const at::Tensor& per_group) const;
  /// [B] -> [N], each token gets the value of its rollout
  at::Tensor over_tokens(const at::Tensor& per_rollout) const;
  /// [P+1] The first rollout of each group, then B. It serves loops over the rollouts of a group,
  /// for what tensor operations express badly: medians, ranks, pairs.
  const std::vector<std::int64_t>& group_begin() const { return group_begin_; }

 private:
  std::vector<std::int64_t> group_begin_;
};

}  // namespace rollcall::objective
