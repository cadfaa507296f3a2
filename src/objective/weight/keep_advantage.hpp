// Weight keep_advantage: only tokens with an advantage of the wanted sign stay in the step.
//   keep_it = 1 where A_it != 0 (nonzero), A_it > 0 (positive) or A_it < 0 (negative), beyond 1e-9;
//   else 0
// Source: A-LoL, arXiv:2305.14718, section 3.2 (positive); NSR and PSR, arXiv:2506.01347, section 3
//   (one side of the samples).
// Shapes: [N] -> [N].   Knobs: keep_sign.
// What differs from none: the other tokens leave the denominators as well, so the loss is a mean
//   over the kept tokens.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct KeepAdvantage {
  static constexpr std::string_view name = "keep_advantage",
                                    formula = "keep_it = A_it != 0, or > 0, or < 0";
  enum class Sign { nonzero, positive, negative };
  Sign sign = Sign::nonzero;

  void bind(Knobs& knobs) {
    knobs.choice("keep_sign", sign, {"nonzero", "positive", "negative"},
                 "sign of the advantages that stay");
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor signed_size = sign == Sign::nonzero    ? step.advantage.abs()
                                   : sign == Sign::positive ? step.advantage
                                                            : -step.advantage;
    return {{}, (signed_size > 1e-9).to(at::kDouble)};
  }
};

}  // namespace rollcall::objective
