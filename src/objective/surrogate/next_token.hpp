// Surrogate next_token: every token of an expert's text is a one-step episode of policy gradient.
// Draws are either averaged exactly or made.
//   reward of drawing a where the text has y: p(y)^-q for a = y, c for a != y;  E_a[r_a grad log
//   p(a)] = (p(y)^-q - c) p(y) grad log p(y)
//   expert (column expert): L = -(p^(1 - q) - c p) lp, p = exp(lp), the factor frozen;  own: L = 0
//   K draws from p^(1/kappa) / Z: L = -(h p^-q lp + c sum_{a != y} n_a / K log p(a)), h = n_y / K
//   the hits, p^-q frozen
// Source: OTR, arXiv:2509.26313 (q = 0, c = its penalty, K = 256 and kappa > 1); Diversity or
//   Precision, arXiv:2512.22955 (cross-entropy is q = 1, c = 0; form inferred, one reward for all
//   wrong tokens).
// Shapes: [M] -> [M].   Knobs: target_power, wrong_reward, draws, draw_temperature.
// What differs from expert_mix: nothing is learned from the policy's own rollouts. q moves between
//   likelihood (1) and the probability itself (0). The latter hardly moves tokens that the policy
//   finds very unlikely. Draws are made once per step, by the policy that it starts from, with
//   addressed random numbers.
#pragma once

#include "objective/pieces.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcall::objective {

struct NextToken {
  static constexpr std::string_view
      name = "next_token",
      formula = "expert: L = -(p^(1 - q) - c p) lp, p frozen, or K draws of it; own: 0";
  double target_power = 1.0, wrong_reward = 0.0, draws = 0.0, draw_temperature = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("target_power", target_power, {0.0, 2.0},
                 "q: the text's token is rewarded by p^-q; 1 is likelihood, less is sharper");
    knobs.number("wrong_reward", wrong_reward, {-10.0, 0.0},
                 "c: reward of every other token of the vocabulary");
    knobs.number("draws", draws, {0.0, 65536.0},
                 "K: tokens drawn in each place of the text; 0: what they tend to");
    knobs.number("draw_temperature", draw_temperature, {0.01, 100.0},
                 "kappa: how much warmer than the policy samples they are drawn");
    knobs.refuse_if([this] { return draws != std::floor(draws); }, "draws is no whole number",
                    "tokens are drawn one by one", "set a whole number");
    knobs.refuse_if(
        [this] { return draws == 0.0 && draw_temperature != 1.0; },
        "draw_temperature is set, and draws is 0",
        "what draws at another temperature tend to is no multiple of the gradient of the text's token",
        "set draws, for example to 256");
    knobs.needs.column(column::expert);
    knobs.loss_use.is_policy_gradient = false;
    knobs.loss_use.ignores_advantage();
    knobs.loss_use.reads_ratio = false;
    knobs.reward_use.trains_on("the texts of experts", [] { return true; });
    knobs.needs.columns(
        [this] { return std::vector<std::string>(draws > 0.0 ? 1 : 0, hits_column()); });
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch,
                           const at::Tensor& /*ratio*/) const {
    const at::Tensor expert = micro_batch.over_tokens(
                         micro_batch.take_rollouts(micro_batch.step.named(column::expert))),
                     lp = micro_batch.logprob.detach().clamp(-20.0, 0.0);
    if (draws > 0.0) {
      const at::Tensor hits =
          micro_batch.take(micro_batch.step.named(hits_column())) * (-target_power * lp).exp();
      return {-expert * (hits * micro_batch.logprob + wrong_reward * micro_batch.miss_logprob), {}};
    }
    const at::Tensor reward = ((1.0 - target_power) * lp).exp() - wrong_reward * lp.exp();
    return {-expert * reward * micro_batch.logprob, {}};
  }

  std::string hits_column() const {
    return fmt::format("{}{}/{}", column::draw_hits, std::int64_t(draws), draw_temperature);
  }
};

}  // namespace rollcall::objective
