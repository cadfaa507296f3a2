// Advantage gae: generalised advantage estimation from a value head.
//   delta_t = r_t + gamma V_{t+1} - V_t,  A_t = sum_k (gamma lambda)^k delta_{t+k};  target R_t =
//   V_t + the same sum with value_lambda
//   V after the last token: 0; truncation extend: V of the last token, for rollouts that a limit
//   on tokens or turns cut; their reward is left out
// Source: Schulman et al. 2016, arXiv:1506.02438, eq. 16; lambda = 1 - 1 / (length_alpha T_i) and
//   the value's own lambda: VAPO, arXiv:2504.05118; extend: EGAE of Truncated PPO,
//   arXiv:2506.15050.
// Shapes: [B] rewards, column value [N] -> [N] and value targets [N].   Knobs: gamma, lambda,
//   value_lambda, length_alpha, truncation, whiten.
// What differs: the baseline is a value for each token instead of the group's mean, and groups do
//   not matter. Step::token_reward counts at its tokens, what turns are paid (Step::turn_reward) at
//   their last tokens, and the rest of the rollout's reward at its last token.
#pragma once

#include "objective/pieces.hpp"
#include "objective/returns.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct Gae {
  static constexpr std::string_view
      name = "gae",
      formula = "A_t = sum_k (gamma lambda)^k delta_{t+k}, delta_t = r_t + gamma V_{t+1} - V_t";
  double gamma = 1.0, lambda = 0.95, value_lambda = -1.0, alpha = 0.0;
  enum class Truncation { end, extend } truncation = Truncation::end;
  enum class Whiten { off, on } whiten = Whiten::off;

  void bind(Knobs& knobs) {
    knobs.number("gamma", gamma, {0.0, 1.0}, "discount per token");
    knobs.number("lambda", lambda, {0.0, 1.0}, "how far an error of the value is carried back");
    knobs.number("value_lambda", value_lambda, {-1.0, 1.0},
                 "lambda of the value's target; -1: lambda");
    knobs.number(
        "length_alpha", alpha, {0.0, 1e6},
        "lambda = 1 - 1 / (length_alpha T_i), at least 0, for the policy; 0: lambda for all lengths");
    knobs.choice("truncation", truncation, {"end", "extend"},
                 "rollouts that a limit cut: ended there, or their last value carried on");
    knobs.choice("whiten", whiten, {"off", "on"}, "advantages standardised over the step's tokens");
    knobs.loss_use.acts_from([this] { return alpha > 0.0 ? std::floor(1.0 / alpha) + 1.0 : NAN; },
                             "length_alpha");
    knobs.needs.column(column::value);
    knobs.reward_use.reads_token_rewards = knobs.reward_use.reads_turn_rewards = true;
  }

  Advantage operator()(const Step& step) const {
    const at::Tensor value = step.named(column::value).contiguous(),
                     raw = backwards(step, value, lambda, alpha);
    Advantage out(whiten == Whiten::on ? whitened(raw) : raw);
    out.value_target =
        value + (value_lambda < 0.0 && alpha == 0.0
                     ? raw
                     : backwards(step, value, value_lambda < 0.0 ? lambda : value_lambda, 0.0));
    return out;
  }

 private:
  at::Tensor backwards(const Step& step, const at::Tensor& value, double fixed,
                       double adaptive) const {
    at::Tensor reward = rewards_of_tokens(step).contiguous(), out = at::zeros_like(reward);
    const auto cut = step.columns.truncated.accessor<bool, 1>();
    const auto offset = step.columns.offsets.accessor<std::int64_t, 1>();
    const at::Tensor at_end = pay_at_the_end(step);
    const auto outcome = at_end.accessor<double, 1>();
    auto *r = reward.data_ptr<double>(), *a = out.data_ptr<double>();
    const auto* v = value.const_data_ptr<double>();
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
      const std::int64_t first = offset[i], n = offset[i + 1] - first;
      if (n == 0) continue;
      const bool extended = truncation == Truncation::extend && cut[i];
      if (extended) r[first + n - 1] -= outcome[i];
      const double carried =
          adaptive > 0.0 ? std::max(0.0, 1.0 - 1.0 / (adaptive * double(n))) : fixed;
      gae_backwards(r + first, v + first, n, extended ? v[first + n - 1] : 0.0, gamma, carried,
                    a + first);
    }
    return out;
  }
};

}  // namespace rollcall::objective
