// Advantage group_center: rewards minus their group's mean.
//   A_i = r_i - mean_g
// Source: Understanding R1-Zero-Like Training (Dr. GRPO), arXiv:2503.20783, section 3.
// Shapes: [B] rewards -> [N].   Knobs: none.
// What differs from group_norm: there is no division by the spread, which gives too much weight to
//   prompts that are nearly always or nearly never solved. A group of one keeps its plain reward
//   (see Step::baseline).
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupCenter {
  static constexpr std::string_view name = "group_center", formula = "A_i = r_i - mean_g";

  at::Tensor operator()(const Step& step) const {
    return step.shape.over_tokens(step.reward - step.baseline());
  }
};

}  // namespace rollcall::objective
