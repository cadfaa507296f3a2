// Reward kl_in_reward: the divergence from the reference policy as a cost in the reward, not in the
// loss.
//   d_it = old_it - reference_it (held within +-20);  rollout: r_i -= kl_reward_coef * sum_t d_it;
//   token: r_it = -kl_reward_coef * d_it
// Source: Back to Basics (RLOO), arXiv:2402.14740, section 2 (the reward of RLHF, Stiennon et al.
//   2020); 0.05 is TRL's default for RLOO.
// Shapes: [N] -> [B], or [N] -> [N].   Knobs: kl_reward_coef, kl_reward_to.
// What differs from regularizer kl: the k1 estimator is frozen into the reward, so the baseline
//   sees it and the advantage carries it. It does not pull on the policy by itself. `token` leaves
//   Step::token_reward to advantages that read it (gae, macro_gae, batch_whiten), and is refused
//   with other advantages.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KlInReward {
  static constexpr std::string_view name = "kl_in_reward",
                                    formula =
                                        "r_i -= kl_reward_coef * sum_t (old_it - reference_it)";
  enum class To { rollout, token };
  double coef = 0.05;
  To to = To::rollout;

  void bind(Knobs& knobs) {
    knobs.number("kl_reward_coef", coef, {0.0, 1e6}, "reward lost per nat of divergence");
    knobs.choice("kl_reward_to", to, {"rollout", "token"},
                 "whether the cost joins the rollout's reward or stays at its tokens");
    knobs.needs.column(column::reference_logprob);
    knobs.reward_use.pays_tokens([this] { return to == To::token; });
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor d =
        (step.columns.old_logprob - step.named(column::reference_logprob)).clamp(-20.0, 20.0);
    if (to == To::token) return {{}, -coef * d, {}};
    return {step.reward - coef * step.shape.rollout_sum(d), {}, {}};
  }
};

}  // namespace rollcall::objective
