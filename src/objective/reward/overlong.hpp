// Reward overlong: a punishment that grows over the last part before the token limit.
//   r_i -= overlong_penalty * clip((T_i - (1 - s) H) / (s H), 0, 1), s = overlong_share
// Source: DAPO, arXiv:2503.14476, eq. 13 (H = 20480 with a buffer of 4096: share 0.2, penalty 1).
// Shapes: [B] -> [B].   Knobs: overlong_share, overlong_penalty.
// What differs from none: an answer near the limit loses reward linearly, before it is cut off. The
//   length of this zone is a share of the limit, so it follows the limit.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Overlong {
  static constexpr std::string_view
      name = "overlong",
      formula = "r_i -= overlong_penalty clip((T_i - (1-s) H) / (s H), 0, 1)";
  double share = 0.2, penalty = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("overlong_share", share, {1e-6, 1.0},
                 "last share s of the token limit H over which the punishment grows");
    knobs.number("overlong_penalty", penalty, {0.0, 1e6}, "punishment at the limit");
  }

  ShapedReward operator()(const Step& step) const {
    const double limit = step.horizon();
    const at::Tensor excess =
        ((step.shape.length - (1.0 - share) * limit) / (share * limit)).clamp(0.0, 1.0);
    return {step.reward - penalty * excess, {}, {}};
  }
};

}  // namespace rollcall::objective
