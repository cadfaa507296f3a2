// Generalised advantage estimation over one sequence, and the tokens at which turns and rollouts
// are paid.
#pragma once

#include "objective/columns.hpp"

#include <algorithm>

namespace rollcall::objective {

/// Computes A_k = delta_k + gamma lambda A_{k+1} with delta_k = r_k + gamma V_{k+1} - V_k, from the
/// last of n places to the first. V_n is `after`.
inline void gae_backwards(const double* reward, const double* value, std::int64_t n, double after,
                          double gamma, double lambda, double* out) {
  double sum = 0.0;
  for (std::int64_t k = n - 1; k >= 0; --k) {
    const double next = k + 1 < n ? value[k + 1] : after;
    sum = reward[k] + gamma * next - value[k] + gamma * lambda * sum;
    out[k] = sum;
  }
}

/// Whether single turns are paid: a rollout has several turns, or a reward piece pays turns.
inline bool pays_turns(const Step& step) {
  return step.turns.turns > step.shape.rollouts || step.turns.paid.defined();
}

/// [K] bool, the turns with rewards that count at their own last token: all turns that have tokens,
/// except the last turn of a rollout.
inline at::Tensor pay_before_the_end(const Step& step) {
  return step.turns.ends().logical_not().logical_and(step.turns.last >= 0);
}

/// [B] the reward that counts at the rollout's last token: its reward minus the rewards that count
/// at the last tokens of earlier turns.
inline at::Tensor pay_at_the_end(const Step& step) {
  if (!pays_turns(step)) return step.reward;
  return step.turns.rollout_sum(step.turn_reward().masked_fill(pay_before_the_end(step), 0.0));
}

/// [N] rewards of single tokens: Step::token_reward, each turn's reward at its last token, and the
/// rest of the rollout's reward at the rollout's last token.
inline at::Tensor rewards_of_tokens(const Step& step) {
  at::Tensor reward = step.token_reward.defined() ? step.token_reward.clone()
                                                  : at::zeros({step.shape.tokens}, at::kDouble);
  if (pays_turns(step)) {
    const at::Tensor before = pay_before_the_end(step);
    reward.index_add_(0, step.turns.last.masked_select(before),
                      step.turn_reward().masked_select(before));
  }
  const at::Tensor filled = (step.shape.length > 0).nonzero().squeeze(1);
  return reward.index_add_(0, step.columns.offsets.slice(0, 1).index_select(0, filled) - 1,
                           pay_at_the_end(step).index_select(0, filled));
}

/// [N] standardised over all tokens of the step: (x - mean) / (spread + 1e-8), where the spread
/// divides by N.
inline at::Tensor whitened(const at::Tensor& x) {
  const double count = double(std::max<std::int64_t>(x.numel(), 1));
  const at::Tensor centred = x - mean_of(x);
  return centred / ((centred.square().sum() / count).sqrt() + 1e-8);
}

}  // namespace rollcall::objective
