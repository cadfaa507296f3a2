// Regularizer kl_convex: one divergence from the base model and one from the policy before the
// update, mixed.
//   loss += kl_convex_coef * (b k3(reference - lp) + (1 - b) k3(old - lp)),  k3(d) = exp(d) - d -
//   1, d within +-20
//   b from kl_convex_base to kl_convex_base_end in proportion to the training done
// Source: Squeeze the Soaked Sponge (ReMix), arXiv:2507.06892, KL-Convex constraint. Its b stays 1
//   for 50 steps, then falls by 0.1 every 10 steps to 1/2; estimator and coefficient are inferred.
// Shapes: [M] -> [M].   Knobs: kl_convex_coef, kl_convex_base, kl_convex_base_end.
// What differs from kl: there are two anchors at once. The base model preserves what it knows, and
//   the old policy keeps the update small.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KlConvex {
  static constexpr std::string_view
      name = "kl_convex",
      formula = "kl_convex_coef * (b k3(reference - lp) + (1 - b) k3(old - lp))";
  double coef = 0.04, base = 1.0, base_end = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("kl_convex_coef", coef, {0.0, 1e6}, "weight of the mixed divergence in the loss");
    knobs.number("kl_convex_base", base, {0.0, 1.0},
                 "share b of the divergence from the reference policy, first step");
    knobs.number("kl_convex_base_end", base_end, {0.0, 1.0},
                 "the same once all steps are done, approached linearly");
    knobs.needs.column(column::reference_logprob);
    knobs.moves("kl_convex_base", [this](const Step& step) { return share(step); });
  }

  double share(const Step& step) const { return base + (base_end - base) * step.columns.progress; }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const auto k3 = [&](const at::Tensor& anchor) {
      const at::Tensor d = (anchor - micro_batch.logprob).clamp(-20.0, 20.0);
      return d.exp() - d - 1.0;
    };
    const double b = share(micro_batch.step);
    return coef * (b * k3(micro_batch.take(micro_batch.step.named(column::reference_logprob))) +
                   (1.0 - b) * k3(micro_batch.old_logprob));
  }
};

}  // namespace rollcall::objective
