// Weight drop_truncated: rollouts that a limit on tokens or turns cut are not trained on.
//   keep_it = 0 where rollout i ended by such a limit, else 1
// Source: DAPO, arXiv:2503.14476, section 3.4 ("overlong filtering"); turns: Mini-o3,
//   arXiv:2509.07969.
// Shapes: [B] -> [N].   Knobs: none.
// What differs from none: dropped rollouts leave loss, regularizers and denominators. Their rewards
//   still count in the advantages of their group, which are computed before.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct DropTruncated {
  static constexpr std::string_view name = "drop_truncated", formula = "keep_it = not truncated_i";

  TokenWeight operator()(const Step& step) const {
    return {{}, step.shape.over_tokens(step.columns.truncated.logical_not().to(at::kDouble))};
  }
};

}  // namespace rollcall::objective
