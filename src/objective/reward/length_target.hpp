// Reward length_target: an answer loses reward in proportion to the distance of its length from a
// target length.
//   r_i -= target_weight min(1, |T_i - L| / L), L = target_share H, H the token limit
// Source: ACE-RL, arXiv:2509.04903 (a length reward for the requested length in addition to the
//   constraints). Its formula was not found. This one is inferred and is linear like L1's,
//   arXiv:2503.04697. Weight 1/4 and target 1/2 are this project's choices.
// Shapes: [B] -> [B].   Knobs: target_share, target_weight.
// What differs from triangular_length: there is one target throughout, including for wrong answers.
//   A length that the prompt states is checked by its verifier.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct LengthTarget {
  static constexpr std::string_view
      name = "length_target",
      formula = "r_i -= target_weight min(1, |T_i - L| / L), L = target_share H";
  double share = 0.5, weight = 0.25;

  void bind(Knobs& knobs) {
    knobs.number("target_share", share, {1e-6, 1.0},
                 "wanted length as a share of the token limit H");
    knobs.number("target_weight", weight, {0.0, 1e6},
                 "what an empty answer, or one of twice the length, loses");
  }

  // |T - L| is taken before the division, so that answers equally far from L lose the same to the
  // last bit. A standardised advantage would magnify a difference.
  ShapedReward operator()(const Step& step) const {
    const double wanted = share * step.horizon();
    return {step.reward - weight * ((step.shape.length - wanted).abs() / wanted).clamp_max(1.0),
            {},
            {}};
  }
};

}  // namespace rollcall::objective
