// Advantage batch_whiten: discounted token returns, standardised over all tokens of the step.
//   R_it = gamma^(T_i - 1 - t) * r_i + sum_{s >= t} gamma^(s - t) r_is,  r_is: rewards of single
//   tokens (Step::token_reward) and of turns, each at its last token
//   A_it = (R_it - mean(R)) / (std(R) + eps), moments over the step's N policy tokens
// Source: REINFORCE++, arXiv:2501.03262, section 3 (gamma 1: the reward comes with the last token;
//   the divergence from the reference is charged token by token). The paper leaves the estimator
//   open. Here the spread divides by N, as in OpenRLHF.
// Shapes: [B] rewards -> [N].   Knobs: gamma, adv_eps.
// What differs from group_norm: there is one baseline and one spread for the whole step, so groups
//   of one are like any other. Equal rewards give 0 (at gamma 1). Long rollouts weigh more in the
//   moments than short ones.
#pragma once

#include "objective/pieces.hpp"
#include "objective/returns.hpp"

namespace rollcall::objective {

struct BatchWhiten {
  static constexpr std::string_view
      name = "batch_whiten",
      formula =
          "R_it = gamma^(T_i-1-t) r_i + later r_is, A = (R - mean) / (std + adv_eps) over all tokens";
  double gamma = 1.0;
  double eps = 1e-8;

  void bind(Knobs& knobs) {
    knobs.number("gamma", gamma, {0.0, 1.0}, "discount of the reward per token that still follows");
    knobs.number("adv_eps", eps, {1e-12, 1.0},
                 "added to the standard deviation over the step's tokens");
    knobs.reward_use.reads_token_rewards = knobs.reward_use.reads_turn_rewards = true;
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor returns = step.token_reward.defined() || pays_turns(step)
                                   ? returns_of_tokens(step)
                                   : returns_of_rollouts(step);
    const double count = double(std::max<std::int64_t>(step.shape.tokens, 1));
    const at::Tensor centred = returns - mean_of(returns);
    return centred / ((centred.square().sum() / count).sqrt() + eps);
  }

 private:
  at::Tensor returns_of_rollouts(const Step& step) const {
    const at::Tensor returns = step.shape.over_tokens(step.reward);
    if (gamma == 1.0) return returns;
    const at::Tensor last = step.shape.over_tokens(step.columns.offsets.slice(0, 1)) - 1;
    return returns * at::pow(gamma, (last - at::arange(step.shape.tokens)).to(at::kDouble));
  }

  at::Tensor returns_of_tokens(const Step& step) const {
    const at::Tensor reward = rewards_of_tokens(step).contiguous(),
                     offsets = step.columns.offsets.contiguous();
    at::Tensor returns = at::zeros_like(reward);
    const auto* begin = offsets.const_data_ptr<std::int64_t>();
    const std::vector<double> no_value(std::size_t(step.shape.tokens), 0.0);
    // With lambda 1 and values of 0, the advantage of gae is the return.
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
      gae_backwards(reward.const_data_ptr<double>() + begin[i], no_value.data(),
                    begin[i + 1] - begin[i], 0.0, gamma, 1.0,
                    returns.data_ptr<double>() + begin[i]);
    }
    return returns;
  }
};

}  // namespace rollcall::objective
