// Surrogate cispo_upper: log-probability weighted by the ratio up to an absolute bound, frozen.
//   L = -sg(min(rho, cispo_cap)) A lp
// Source: The Art of Scaling Reinforcement Learning Compute for LLMs (ScaleRL), arXiv:2510.13786;
//   TRL's loss type "cispo". The cap 5 is what TRL's documentation suggests.
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: cispo_cap.
// What differs from cispo: there is no lower bound, and the upper one is the largest weight itself,
//   not its distance from 1.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct CispoUpper {
  static constexpr std::string_view name = "cispo_upper",
                                    formula = "L = -sg(min(rho, cispo_cap)) A lp";
  double cap = 5.0;

  void bind(Knobs& knobs) {
    knobs.number("cispo_cap", cap, {1.0, 1e6}, "largest weight of a token");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor free = ratio.detach();
    return {-free.clamp_max(cap) * micro_batch.advantage * micro_batch.logprob,
            {},
            {{"is_bounded", (free > cap).to(at::kDouble)}}};
  }
};

}  // namespace rollcall::objective
