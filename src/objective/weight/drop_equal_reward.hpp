// Weight drop_equal_reward: groups whose rewards are all equal leave the step.
//   keep_it = 0 for groups of two and more with max r = min r, of which `solved` takes those that the verifier accepts; else 1
// Source: DAPO, arXiv:2503.14476, section 3.2 (dynamic sampling), without drawing other prompts; groups of one stay, as in verl.
// Shapes: [B] -> [N].   Knobs: equal_which, equal_by.
// What differs from none: such groups have no policy gradient under group baselines, but they would stay in the denominators and in the
//   regularizers, so the step size would depend on how many there are.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropEqualReward {
  static constexpr std::string_view name = "drop_equal_reward", formula = "keep_it = not (all r of the group equal [and accepted])";
  enum class Which { any, solved };
  enum class By { verifier, shaped };
  Which which = Which::any;
  By by = By::verifier;

  void bind(Knobs& knobs) {
    knobs.choice("equal_which", which, {"any", "solved"}, "which groups of equal rewards go: all, those whose answers are right");
    knobs.needs_column([this] { return which == Which::solved; }, column::correct);
    knobs.choice("equal_by", by, {"verifier", "shaped"}, "whether the verifier's or the shaped rewards are compared");
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor& reward = by == By::verifier ? step.columns.reward : step.reward;
    const at::Tensor most = step.group_max(reward);
    at::Tensor dropped = (most - step.group_min(reward) <= 1e-9).logical_and(step.group_size > 1);
    if (which == Which::solved) dropped = dropped.logical_and(step.group_min(step.named(column::correct)) > 0.5);
    return {{}, step.over_tokens(step.over_rollouts(dropped.logical_not().to(at::kDouble)))};
  }
};

}  // namespace rollcall::objective
