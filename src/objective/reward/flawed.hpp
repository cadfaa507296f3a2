// Reward flawed: a correct answer with a mistake on the way to it earns less.
//   r_i = 2 correct_i - 1 - flaw_penalty where correct and component/sound <= 0, else 2 correct_i -
//   1
// Source: FAPO, arXiv:2510.22543 (rule reward +1 or -1, penalty 1).
// Shapes: [B] columns correct, component/sound -> [B].   Knobs: flaw_penalty.
// What differs: a flawed success has a positive advantage in a group that mostly fails, and a
//   negative one in a group that mostly succeeds. It is first a stepping stone and later a mistake,
//   without a schedule. Either [judge] or a command may find the flaws and fill component/sound.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Flawed {
  static constexpr std::string_view
      name = "flawed",
      formula = "r_i = +-1 by correctness, less flaw_penalty where correct and not sound";
  static constexpr const char* sound = "component/sound";
  double penalty = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("flaw_penalty", penalty, {0.0, 1e6}, "what a correct answer loses by a flaw");
    knobs.needs.column(column::correct);
    knobs.needs.column(sound);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor correct = step.named(column::correct) > 0,
                     is_flawed = correct.logical_and(step.named(sound) <= 0);
    return {2.0 * correct.to(at::kDouble) - 1.0 - penalty * is_flawed.to(at::kDouble), {}, {}};
  }
};

}  // namespace rollcall::objective
