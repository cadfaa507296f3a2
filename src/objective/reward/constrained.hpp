// Reward constrained: a rollout that violates any constraint earns nothing.
//   r_i = 0 where a column component/NAME is <= 0 for rollout i; else unchanged
// Source: The Perfect Blend (CGPO), arXiv:2409.20370 (constrained reward of CRPG).
// Shapes: [B] -> [B].   Knobs: none.
// All components are constraints, including the components that every verifier fills. In the paper,
// too, a right answer and the required form are among the constraints.
// What differs from a weighted sum of components: a violation cannot be bought back by a high score
//   elsewhere. Without such columns it does nothing.
#pragma once

#include "objective/components.hpp"

namespace rollcall::objective {

struct Constrained {
  static constexpr std::string_view name = "constrained",
                                    formula = "r_i = 0 where a component/NAME_i <= 0";

  void bind(Knobs& knobs) {
    knobs.reward_use.reads_components([](const std::string&) { return true; });
  }

  ShapedReward operator()(const Step& step) const {
    at::Tensor reward = step.reward;
    for (const auto& [unused, values] : components(step))
      reward = at::where(values > 0, reward, 0.0);
    return {reward, {}, {}};
  }
};

}  // namespace rollcall::objective
