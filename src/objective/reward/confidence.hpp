// Reward confidence: instead of a verifier's reward, an answer earns by how sure the policy was of
// its tokens.
//   r_i = -confidence_weight H_i, H_i the mean over the rollout's tokens of the entropy where they
//   were sampled
// Source: RENT, arXiv:2505.22660 (negative entropy of the token distributions as the only reward).
//   From its description.
// Shapes: column old_entropy [N] -> [B].   Knobs: confidence_weight.
// What differs from weight entropy_shaping and regularizer entropy: entropy is the reward itself,
//   and less of it is better. If the policy is sure of a wrong answer, it trains towards that
//   answer, which component `correct` shows.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Confidence {
  static constexpr std::string_view name = "confidence",
                                    formula = "r_i = -confidence_weight mean_t H_it";
  double weight = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("confidence_weight", weight, {0.0, 1e6}, "reward lost per nat of mean entropy");
    knobs.needs.column(column::old_entropy);
  }

  ShapedReward operator()(const Step& step) const {
    return {-weight * step.shape.rollout_mean(step.named(column::old_entropy)), {}, {}};
  }
};

}  // namespace rollcall::objective
