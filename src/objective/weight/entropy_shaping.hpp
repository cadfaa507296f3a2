// Weight entropy_shaping: undecided tokens gain advantage, by a bounded amount.
//   A'_it = A_it + min(shaping_coef H_it, |A_it| / shaping_kappa);  w_it = A'_it / A_it, 1 where
//   A_it = 0;  shaping_of response: H_it is the mean entropy of the rollout's tokens
// Source: MSSR, arXiv:2512.18215 (entropy-based shaping; this form and 0.4, 2 after
//   arXiv:2506.14758, eq. 5); the mean of a response: FunRL, arXiv:2508.05118 (inferred).
// Shapes: [N] column current_entropy -> [N].   Knobs: shaping_coef, shaping_kappa,
//   shaping_of.
// What differs from regularizer entropy: it is a number and is not differentiated. With kappa >= 1
//   no sign can flip, because w is within 1 +- 1 / kappa.
// Acts at every update, on the update's rollouts.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct EntropyShaping {
  static constexpr std::string_view
      name = "entropy_shaping",
      formula = "w_it = 1 + sign(A) min(shaping_coef H / |A|, 1 / shaping_kappa)";
  enum class Of { token, response } of = Of::token;
  double coef = 0.4, kappa = 2.0;

  void bind(Knobs& knobs) {
    knobs.number("shaping_coef", coef, {0.0, 1e6}, "advantage gained per nat of entropy");
    knobs.number("shaping_kappa", kappa, {1.0, 1e6}, "the gain is at most |A| over this");
    knobs.choice("shaping_of", of, {"token", "response"},
                 "whose entropy: the token's, or the mean over its rollout");
    knobs.needs.column(column::current_entropy);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor& entropy = step.named(column::current_entropy);
    const at::Tensor undecided =
        of == Of::token ? entropy : step.shape.over_tokens(step.shape.rollout_mean(entropy));
    const at::Tensor gain =
        (coef * undecided / step.advantage.abs().clamp_min(1e-9)).clamp_max(1.0 / kappa);
    return {1.0 + at::where(step.advantage.abs() > 1e-9, step.advantage.sign() * gain, 0.0), {}};
  }
};

}  // namespace rollcall::objective
