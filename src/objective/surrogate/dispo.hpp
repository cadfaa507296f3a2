// Surrogate dispo: log-probability weighted by the frozen ratio, with separate bounds for good and
// bad rollouts.
//   L = -sg(w) A lp;  A > 0: w = clip(rho, 1 - dispo_low_pos, 1 + dispo_high_pos);  else w =
//   clip(rho, 1 - dispo_low_neg, 1 + dispo_high_neg)
// Source: DISPO, arXiv:2602.00983; its bounds 0.2, 10, 1 and 100 as a summary of the paper gives
//   them. With 0, 0, 1, 0 and the ratio of whole rollouts it is the taper of TOPR,
//   arXiv:2503.14286.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: dispo_low_pos, dispo_high_pos, dispo_low_neg,
//   dispo_high_neg.
// What differs from cispo: four bounds instead of two; metrics count the tokens of the four regimes
//   (good or bad, weight above or below 1).
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Dispo {
  static constexpr std::string_view name = "dispo",
                                    formula = "L = -sg(clip(rho, bounds of the sign of A)) A lp";
  double low_pos = 0.2, high_pos = 10.0, low_neg = 1.0, high_neg = 100.0;

  void bind(Knobs& knobs) {
    knobs.number("dispo_low_pos", low_pos, {0.0, 1.0},
                 "how far below 1 a token's weight may fall where A > 0");
    knobs.number("dispo_high_pos", high_pos, {0.0, 1e6}, "how far above 1 it may rise where A > 0");
    knobs.number("dispo_low_neg", low_neg, {0.0, 1.0}, "how far below 1 it may fall where A <= 0");
    knobs.number("dispo_high_neg", high_neg, {0.0, 1e6},
                 "how far above 1 it may rise where A <= 0");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor free = ratio.detach(), good = micro_batch.advantage > 0, above = free > 1,
                     below = free < 1;
    const at::Tensor weight = at::where(good, free.clamp(1.0 - low_pos, 1.0 + high_pos),
                                        free.clamp(1.0 - low_neg, 1.0 + high_neg));
    const at::Tensor bad = micro_batch.advantage < 0;
    const auto share = [](const at::Tensor& sign, const at::Tensor& side) {
      return sign.logical_and(side).to(at::kDouble);
    };
    return {-weight * micro_batch.advantage * micro_batch.logprob,
            {},
            {{"good_above", share(good, above)},
             {"good_below", share(good, below)},
             {"bad_above", share(bad, above)},
             {"bad_below", share(bad, below)}}};
  }
};

}  // namespace rollcall::objective
