// Advantage batch_whiten: discounted token returns, standardised over all tokens of the step.
//   R_it = gamma^(T_i - 1 - t) * r_i + sum_{s >= t} gamma^(s - t) r_is,  A_it = (R_it - mean(R)) / (std(R) + eps), moments over the step's N policy tokens
//   r_is: rewards of single tokens, where a reward piece leaves them (kl_in_reward with kl_reward_to = token)
// Source: REINFORCE++, arXiv:2501.03262, section 3 (gamma 1: the reward comes with the last token). The paper leaves the estimator open:
//   the spread divides by N, as in OpenRLHF.
// Shapes: [B] rewards -> [N].   Knobs: gamma, adv_eps.
// What differs from group_norm: one baseline and one spread for the whole step; groups of one are like any other. Equal rewards give 0
//   (at gamma 1). Long rollouts weigh more in the moments than short ones.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct BatchWhiten {
  static constexpr std::string_view name = "batch_whiten", formula = "R_it = gamma^(T_i-1-t) r_i, A = (R - mean) / (std + adv_eps) over all tokens";
  double gamma = 1.0;
  double eps = 1e-8;

  void bind(Knobs& knobs) {
    knobs.number("gamma", gamma, {0.0, 1.0}, "discount of the reward per token that still follows");
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to the standard deviation over the step's tokens");
  }

  at::Tensor operator()(const Step& step) const {
    at::Tensor returns = step.over_tokens(step.reward);
    if (gamma != 1.0) {
      const at::Tensor last = step.over_tokens(step.columns.offsets.slice(0, 1)) - 1;
      returns = returns * at::pow(gamma, (last - at::arange(step.tokens)).to(at::kDouble));
    }
    if (step.token_reward.defined()) returns = returns + still_to_come(step);
    const double count = double(std::max<std::int64_t>(step.tokens, 1));
    const at::Tensor centred = returns - returns.sum() / count;
    return centred / ((centred.square().sum() / count).sqrt() + eps);
  }

  /// [N] discounted rewards of the token and of those after it in its rollout.
  at::Tensor still_to_come(const Step& step) const {
    const at::Tensor sums = step.token_reward.clone();
    const auto start = step.columns.offsets.accessor<std::int64_t, 1>();
    auto sum = sums.accessor<double, 1>();
    for (std::int64_t i = 0; i < step.rollouts; ++i) {
      for (auto t = start[i + 1] - 2; t >= start[i]; --t) sum[t] += gamma * sum[t + 1];
    }
    return sums;
  }
};

}  // namespace rollcall::objective
