// Weight drop_equal_reward: groups whose rewards are all equal leave the step.
//   keep_it = 0 for groups of two or more rollouts with equal r (base/numbers/differing.hpp), and
//   with `solved` only for those that the verifier accepts; else 1
// Source: DAPO, arXiv:2503.14476, section 3.2 (dynamic sampling), without drawing other prompts;
//   groups of one stay, as in verl.
// Shapes: [B] -> [N].   Knobs: equal_which, equal_by.
// What differs from none: such groups have no policy gradient under group baselines, but they would
//   stay in the denominators and in the regularizers, so the step size would depend on their
//   number.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropEqualReward {
  static constexpr std::string_view name = "drop_equal_reward",
                                    formula =
                                        "keep_it = not (all r of the group equal [and accepted])";
  enum class Which { any, solved };
  enum class By { verifier, shaped };
  Which which = Which::any;
  By by = By::shaped;

  void bind(Knobs& knobs) {
    knobs.choice("equal_which", which, {"any", "solved"},
                 "which groups of equal rewards go: all, those whose answers are right");
    knobs.needs.column([this] { return which == Which::solved; }, column::correct);
    knobs.choice("equal_by", by, {"verifier", "shaped"},
                 "whether the verifier's or the shaped rewards are compared");
    knobs.reward_use.gates({.when = [this] { return by == By::verifier; },
                            .heard =
                                [this](const Step& step) {
                                  return at::where(kept(step) > 0, step.reward,
                                                   step.columns.reward);
                                },
                            .by_verifier = true});
  }

  TokenWeight operator()(const Step& step) const {
    return {{}, step.shape.over_tokens(kept(step))};
  }

 private:
  /// [B] 0 for rollouts of groups that leave, else 1
  at::Tensor kept(const Step& step) const {
    const at::Tensor& reward = by == By::verifier ? step.columns.reward : step.reward;
    at::Tensor dropped =
        step.shape.group_differs(reward).logical_not().logical_and(step.shape.group_size > 1);
    if (which == Which::solved)
      dropped = dropped.logical_and(step.shape.group_min(step.named(column::correct)) > 0.5);
    return step.shape.over_rollouts(dropped.logical_not().to(at::kDouble));
  }
};

}  // namespace rollcall::objective
