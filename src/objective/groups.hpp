// Shared by the losses that couple the rollouts of a group: the score of a whole rollout, which
// rollouts are accepted, and sums over part of a group.
#pragma once

#include "objective/columns.hpp"
#include "objective/largest.hpp"

#include <limits>

namespace rollcall::objective {

enum class RolloutScore { log_likelihood, ratio, log_ratio, log_ratio_sum };

/// [L] 1 where the verifier accepted the rollout and the rollout has a trained token, else 0.
inline at::Tensor accepted(const MicroBatchTensors& micro_batch) {
  return micro_batch.present() *
         (micro_batch.take_rollouts(micro_batch.step.named(column::correct)) > 0.5).to(at::kDouble);
}

/// [B] 1 for an expert's rollout of a prompt without a right rollout of the policy's own, else 0.
/// Own rollouts count whether or not they train, so an expert is not imitated because a scheduler
/// leaves out the rollouts of a solved prompt.
inline at::Tensor imitated(const Step& step) {
  const at::Tensor expert = (step.named(column::expert) > 0.5).to(at::kDouble), own = 1.0 - expert;
  const at::Tensor right =
      step.shape.group_sum(own * (step.named(column::correct) > 0.5).to(at::kDouble));
  return expert * step.shape.over_rollouts((right == 0).to(at::kDouble));
}

/// [L] score of each rollout over its trained tokens: the mean of lp, the mean of exp(lp - anchor),
/// the mean of lp - anchor, or the sum of lp - anchor. Here lp is the log-prob under the current
/// policy, and log-ratios are held within +-20.
inline at::Tensor rollout_score(const MicroBatchTensors& micro_batch, RolloutScore score,
                                const at::Tensor& anchor) {
  const at::Tensor log_ratio = (micro_batch.logprob - anchor).clamp(-20.0, 20.0);
  at::Tensor token = score == RolloutScore::log_likelihood ? micro_batch.logprob
                     : score == RolloutScore::ratio        ? log_ratio.exp()
                                                           : log_ratio;
  if (micro_batch.step.keep.defined()) token = token * micro_batch.take(micro_batch.step.keep);
  const at::Tensor sum = micro_batch.rollout_sum(token);
  return score == RolloutScore::log_ratio_sum
             ? sum
             : sum / micro_batch.take_rollouts(micro_batch.step.trained_length).clamp_min(1);
}

/// [groups] mean of x over the rollouts with mask > 0; 0 for a group without such a rollout.
inline at::Tensor masked_group_mean(const MicroBatchTensors& micro_batch, const at::Tensor& x,
                                    const at::Tensor& mask) {
  return micro_batch.group_sum(x * mask) / micro_batch.group_sum(mask).clamp_min(1);
}

/// [groups] log(anchor + sum of exp(x)) over the rollouts with mask > 0; the anchor is 1 if
/// `anchored`, else 0. A group with nothing to sum has the value 0 and the derivative 0 when there
/// is no anchor.
inline at::Tensor masked_logsumexp(const MicroBatchTensors& micro_batch, const at::Tensor& x,
                                   const at::Tensor& mask, bool anchored) {
  const at::Tensor counted = mask > 0;
  const double least = anchored ? 0.0 : -1e300;
  const at::Tensor largest = largest_of(micro_batch.groups(), micro_batch.group(),
                                        at::where(counted, x.detach(), least), least);
  const at::Tensor sum = micro_batch.group_sum(
      at::where(counted, x - micro_batch.over_group(largest), 0.0).exp() * counted.to(at::kDouble));
  if (anchored) return (sum + (-largest).exp()).log() + largest;
  return at::where(sum > 0, at::where(sum > 0, sum, 1.0).log() + largest, 0.0);
}

/// [L] the largest r among the rollouts of the group that have a trained token.
inline at::Tensor group_best(const MicroBatchTensors& micro_batch, const at::Tensor& r) {
  const double lowest = -std::numeric_limits<double>::infinity();
  const at::Tensor counted = at::where(micro_batch.present() > 0, r, lowest);
  return micro_batch.over_group(
      largest_of(micro_batch.groups(), micro_batch.group(), counted, lowest));
}

/// Pairs (w, l) of rollouts of one group with r_w > r_l beyond rounding, as two columns [K] of
/// places within the micro-batch. With `extremes`, w is among the best and l among the worst of the
/// group.
inline std::pair<at::Tensor, at::Tensor> ordered_pairs(const MicroBatchTensors& micro_batch,
                                                       const at::Tensor& r, bool extremes) {
  const auto [i, j] = micro_batch.pairs();
  const at::Tensor ri = r.index_select(0, i), rj = r.index_select(0, j);
  at::Tensor taken = (ri > rj).logical_and(differing(ri, rj));
  const auto is = [](const at::Tensor& reward, const at::Tensor& extreme) {
    return differing(reward, extreme).logical_not();
  };
  if (extremes)
    taken = taken.logical_and(is(ri, group_best(micro_batch, r).index_select(0, i)))
                .logical_and(is(rj, -group_best(micro_batch, -r).index_select(0, j)));
  return {i.masked_select(taken), j.masked_select(taken)};
}

/// [M] the group's loss on each of its tokens, so that an aggregate such as prompt-mean averages it
/// again.
inline at::Tensor group_loss_on_tokens(const MicroBatchTensors& micro_batch,
                                       const at::Tensor& per_group) {
  return micro_batch.over_tokens(micro_batch.over_group(per_group));
}

/// [groups] mean loss over the pairs (w, l) of each group, and [groups] the number of its pairs.
/// `loss`: [K] of each pair; `winner`: [K] its w.
inline std::pair<at::Tensor, at::Tensor> group_mean_of_pairs(const MicroBatchTensors& micro_batch,
                                                             const at::Tensor& loss,
                                                             const at::Tensor& winner) {
  const at::Tensor group = micro_batch.group().index_select(0, winner),
                   none = at::zeros({micro_batch.groups()}, at::kDouble);
  const at::Tensor count = none.index_add(0, group, at::ones({winner.size(0)}, at::kDouble));
  return {none.index_add(0, group, loss) / count.clamp_min(1), count};
}

}  // namespace rollcall::objective
