// What the losses that couple a group share: the score of a whole rollout, who is right, and sums over part of a group.
#pragma once

#include "objective/columns.hpp"
#include "objective/largest.hpp"

#include <limits>

namespace rollcall::objective {

enum class RolloutScore { log_likelihood, ratio, log_ratio, log_ratio_sum };

/// [L] 1 where the verifier accepted the rollout and it has a trained token.
inline at::Tensor accepted(const Leaf& leaf) { return leaf.present() * (leaf.take_rollouts(leaf.step.named(column::correct)) > 0.5).to(at::kDouble); }

/// [L] over each rollout's trained tokens: mean lp, mean exp(lp - anchor), mean or sum of lp - anchor; log-ratios held within +-20.
inline at::Tensor rollout_score(const Leaf& leaf, RolloutScore score, const at::Tensor& anchor) {
  const at::Tensor log_ratio = (leaf.logprob - anchor).clamp(-20.0, 20.0);
  at::Tensor token = score == RolloutScore::log_likelihood ? leaf.logprob : score == RolloutScore::ratio ? log_ratio.exp() : log_ratio;
  if (leaf.step.keep.defined()) token = token * leaf.take(leaf.step.keep);
  const at::Tensor sum = leaf.rollout_sum(token);
  return score == RolloutScore::log_ratio_sum ? sum : sum / leaf.take_rollouts(leaf.step.trained_length).clamp_min(1);
}

/// [groups] mean of x over mask > 0; 0 where there is none.
inline at::Tensor masked_group_mean(const Leaf& leaf, const at::Tensor& x, const at::Tensor& mask) {
  return leaf.group_sum(x * mask) / leaf.group_sum(mask).clamp_min(1);
}

/// [groups] log(anchor + sum exp(x)) over mask > 0, anchor 1 or 0. Without an anchor it is 0 where there is nothing to sum, with derivative 0.
inline at::Tensor masked_logsumexp(const Leaf& leaf, const at::Tensor& x, const at::Tensor& mask, bool anchored) {
  const at::Tensor counted = mask > 0;
  const double least = anchored ? 0.0 : -1e300;
  const at::Tensor largest = largest_of(leaf.groups(), leaf.group(), at::where(counted, x.detach(), least), least);
  const at::Tensor sum = leaf.group_sum(at::where(counted, x - leaf.over_group(largest), 0.0).exp() * counted.to(at::kDouble));
  if (anchored) return (sum + (-largest).exp()).log() + largest;
  return at::where(sum > 0, at::where(sum > 0, sum, 1.0).log() + largest, 0.0);
}

/// [L] the largest r of the group's rollouts with a trained token.
inline at::Tensor group_best(const Leaf& leaf, const at::Tensor& r) {
  const double lowest = -std::numeric_limits<double>::infinity();
  const at::Tensor counted = at::where(leaf.present() > 0, r, lowest);
  return leaf.over_group(largest_of(leaf.groups(), leaf.group(), counted, lowest));
}

/// Pairs (w, l) of a group with r_w > r_l, as two columns [K]; of the extremes only the best w and the worst l.
inline std::pair<at::Tensor, at::Tensor> ordered_pairs(const Leaf& leaf, const at::Tensor& r, bool extremes) {
  const auto [i, j] = leaf.pairs();
  const at::Tensor ri = r.index_select(0, i), rj = r.index_select(0, j);
  at::Tensor taken = ri > rj;
  if (extremes) taken = taken.logical_and(ri == group_best(leaf, r).index_select(0, i)).logical_and(rj == -group_best(leaf, -r).index_select(0, j));
  return {i.masked_select(taken), j.masked_select(taken)};
}

/// A group's loss on each of its tokens, for prompt-mean or another aggregate to average again.
inline at::Tensor group_loss_on_tokens(const Leaf& leaf, const at::Tensor& per_group) { return leaf.over_tokens(leaf.over_group(per_group)); }

/// Mean over pairs (w, l) of each group: `loss` [K] of pairs, `winner` [K] their first rollout; also the number of pairs, [groups].
inline std::pair<at::Tensor, at::Tensor> group_mean_of_pairs(const Leaf& leaf, const at::Tensor& loss, const at::Tensor& winner) {
  const at::Tensor group = leaf.group().index_select(0, winner), none = at::zeros({leaf.groups()}, at::kDouble);
  const at::Tensor count = none.index_add(0, group, at::ones({winner.size(0)}, at::kDouble));
  return {none.index_add(0, group, loss) / count.clamp_min(1), count};
}

}  // namespace rollcall::objective
