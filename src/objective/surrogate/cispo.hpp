// Surrogate cispo: log-probability weighted by the clipped ratio, which is frozen.
//   L = -sg(clip(rho, 1 - clip_low, 1 + clip_high)) A lp
// Source: MiniMax-M1, arXiv:2506.13585, eqs. 4 and 5. It sets the lower bound so wide that it never
//   acts, which is clip_low 1 here. clip_high 0.2 is from verl's example.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: clip_low, clip_high.
// What differs from clip: a bound limits the weight of a token and never takes its derivative away.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Cispo {
  static constexpr std::string_view name = "cispo",
                                    formula = "L = -sg(clip(rho, 1-clip_low, 1+clip_high)) A lp";
  double low = 1.0, high = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("clip_low", low, {0.0, 1.0}, "how far below 1 a token's weight may fall; 1: to 0");
    knobs.number("clip_high", high, {0.0, 1e6}, "how far above 1 a token's weight may rise");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor free = ratio.detach(), weight = free.clamp(1.0 - low, 1.0 + high);
    return {-weight * micro_batch.advantage * micro_batch.logprob,
            {},
            {{"is_bounded", (weight != free).to(at::kDouble)}}};
  }
};

}  // namespace rollcall::objective
