// Surrogate expert_mix: own rollouts have the clipped loss, expert rollouts have weighted
// likelihood, and the balance moves with the training step.
//   own: (1 - mu) clip(rho, A);  expert (column expert): -mu phi lp;  phi = p (1 - p), 1 or p, p =
//   exp(lp), frozen
//   mu = peak step / warmup at first, then valley + (peak - valley) (1 + cos(pi s / decay)) / 2, s
//   = steps since, at most decay
// Source: CHORD, arXiv:2508.11408 (warm-up 200, decay 400, peak 0.5, valley 0.02; CHORD-mu has phi
//   1, warm-up 0, 0.9 to 0.05 in 200 steps).
// Shapes: [M] -> [M].   Knobs: mu_peak, mu_valley, mu_warmup, mu_decay, expert_weight, and the
//   knobs of clip.
// What differs from clip: tokens of the expert that the policy finds nearly certain or nearly
//   impossible hardly count. At mu 0 it is clip to the bit.
#pragma once

#include "objective/surrogate/clip.hpp"

#include <cmath>
#include <numbers>

namespace rollcall::objective {

struct ExpertMix {
  static constexpr std::string_view
      name = "expert_mix",
      formula = "own: (1 - mu) clip(rho, A); expert: -mu p (1 - p) lp, p frozen";
  enum class Phi { uncertainty, one, probability };
  Clip clip;
  double peak = 0.5, valley = 0.02, warmup = 200, decay = 400;
  Phi phi = Phi::uncertainty;

  void bind(Knobs& knobs) {
    clip.bind(knobs);
    knobs.number("mu_peak", peak, {0.0, 1.0}, "largest share of the expert's loss");
    knobs.number("mu_valley", valley, {0.0, 1.0}, "its share in the end");
    knobs.number("mu_warmup", warmup, {0.0, 1e9}, "steps of linear growth to the peak");
    knobs.number("mu_decay", decay, {0.0, 1e9}, "steps from peak to valley");
    knobs.choice("expert_weight", phi, {"uncertainty", "one", "probability"},
                 "weight of an expert's token: p (1 - p), 1 or p");
    knobs.loss_use.is_policy_gradient = false;
    knobs.needs.column(column::expert);
    knobs.moves("mu", [this](const Step& step) { return mu(double(step.columns.step)); });
  }

  double mu(double step) const {
    if (step < warmup) return peak * step / warmup;
    if (step - warmup >= decay) return valley;
    return valley +
           (peak - valley) * 0.5 * (1.0 + std::cos(std::numbers::pi * (step - warmup) / decay));
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const double share = mu(double(micro_batch.step.columns.step));
    const SurrogateLoss own = clip(micro_batch, ratio);
    const at::Tensor expert = micro_batch.over_tokens(
                         micro_batch.take_rollouts(micro_batch.step.named(column::expert)) > 0.5),
                     p = micro_batch.logprob.detach().clamp(-20.0, 0.0).exp();
    const at::Tensor weight = phi == Phi::one           ? at::ones_like(p)
                              : phi == Phi::probability ? p
                                                        : p * (1.0 - p);
    return {at::where(expert, -share * weight * micro_batch.logprob, (1.0 - share) * own.loss),
            own.clipped.logical_and(expert.logical_not())};
  }
};

}  // namespace rollcall::objective
