// Surrogate hybrid: a mixture of the token's clipped objective and its rollout's.
//   L = m C(rho_it; clip_low, clip_high) + (1 - m) C(s_i; sequence_clip_low, sequence_clip_high),
//   C(x) = max(-x A, -clip(x) A)
//   s_i = exp(mean_t ln rho_it);  m = mix_weight, or the token's entropy over the largest of its
//   rollout (frozen)
// Source: Dynamic Hybrid Policy Optimization, arXiv:2601.05607: averaged and entropy-guided mixing,
//   a trust interval for each branch. Taking the pessimistic side branch by branch, and this
//   normalisation of the entropy, are inferred from its abstract. The default bounds of the
//   branches are those of GRPO and GSPO.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high, sequence_clip_low,
//   sequence_clip_high, mix, mix_weight.
// What differs from clip: at mix_weight 1 there is no difference; at 0 it is clip on ratio
//   sequence. Where both branches have weight, a token has no derivative only if both are clipped.
#pragma once

#include "objective/largest.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Hybrid {
  static constexpr std::string_view
      name = "hybrid",
      formula = "L = m C(rho) + (1-m) C(s), C clipped, s the rollout's mean ratio";
  enum class Mix { constant, entropy };
  double low = 0.2, high = 0.2, sequence_low = 3e-4, sequence_high = 4e-4, weight = 0.5;
  Mix mix = Mix::constant;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0}, "lower width of the token branch");
    knobs.number("clip_high", high, {0.0, 1e6}, "upper width of the token branch");
    knobs.number("sequence_clip_low", sequence_low, {0.0, 1.0},
                 "lower width of the rollout branch");
    knobs.number("sequence_clip_high", sequence_high, {0.0, 1e6},
                 "upper width of the rollout branch");
    knobs.choice("mix", mix, {"constant", "entropy"}, "what the token branch weighs");
    knobs.number("mix_weight", weight, {0.0, 1.0},
                 "weight of the token branch where mix is constant");
    knobs.needs.column([this] { return mix == Mix::entropy; }, column::old_entropy);
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor sequence =
        micro_batch.over_tokens(micro_batch.rollout_mean(ratio.log()).exp());
    const auto [token_loss, token_clipped] = clip(micro_batch.advantage, ratio, low, high);
    const auto [sequence_loss, sequence_clipped] =
        clip(micro_batch.advantage, sequence, sequence_low, sequence_high);
    const at::Tensor clipped = token_clipped.logical_and(sequence_clipped);
    if (mix == Mix::constant)
      return {weight * token_loss + (1.0 - weight) * sequence_loss, clipped};
    const Step& step = micro_batch.step;
    const at::Tensor entropy = step.named(column::old_entropy);
    const at::Tensor largest = largest_of(step.shape.rollouts, step.shape.rollout, entropy, 0.0);
    const at::Tensor m =
        micro_batch.take(entropy / step.shape.over_tokens(largest).clamp_min(1e-12));
    return {m * token_loss + (1.0 - m) * sequence_loss, clipped};
  }

 private:
  static std::pair<at::Tensor, at::Tensor> clip(const at::Tensor& advantage,
                                                const at::Tensor& ratio, double low, double high) {
    const at::Tensor free = -advantage * ratio,
                     bounded = -advantage * ratio.clamp(1.0 - low, 1.0 + high);
    return {at::maximum(free, bounded), bounded.detach() > free.detach()};
  }
};

}  // namespace rollcall::objective
