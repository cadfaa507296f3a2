// Weight resample: weights the step as if it were drawn again, with rollouts of large |reward|
// drawn more often.
//   e_i = B |r_i|^p / sum_j |r_j|^p over rollouts with tokens;  m_i = floor(e_i) + [u_i < e_i -
//   floor(e_i)], u_i an addressed draw;
//   w_it = m_i sum_j T_j / sum_j m_j T_j, so that a mean over tokens is one over the tokens drawn;
//   1 where the sum of |r|^p is 0
// Source: PF-PPO, arXiv:2409.06957, as verl's pf_ppo (pow, p 2; max_min and max_random are left
//   out).
// Shapes: [B] -> [N].   Knobs: resample_power.
// What differs from drawing with replacement: the expectation e_i is the same, but the multiplicity
//   of a rollout differs from it by less than one, and the draw of one rollout does not depend on
//   the order of the others.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Resample {
  static constexpr std::string_view
      name = "resample",
      formula = "w_it = m_i sum T / sum m T, m_i with mean B |r_i|^p / sum |r|^p";
  double power = 2.0;

  void bind(Knobs& knobs) {
    knobs.number("resample_power", power, {0.0, 100.0}, "exponent p of the size of the reward");
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor counted = (step.trained_length > 0).to(at::kDouble),
                     size = step.reward.abs().pow(power) * counted;
    const double total = size.sum().item<double>();
    if (total <= 1e-300) return {};
    const at::Tensor expected = size * (counted.sum().item<double>() / total) + 1e-9,
                     whole = expected.floor();
    const at::Tensor times = whole + (step.uniform_rollouts(16) < expected - whole).to(at::kDouble);
    const at::Tensor drawn = (times * step.trained_length).sum().clamp_min(1);
    return {step.shape.over_tokens(times * (step.normalizer.tokens / drawn)), {}};
  }
};

}  // namespace rollcall::objective
