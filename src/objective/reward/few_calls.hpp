// Reward few_calls: a right answer earns most if it made only the calls that it needs.
//   r_i = calls_alpha u_i for a correct rollout, else 0;  m: calls of rollout i, n: fewest calls of
//   a correct rollout of its group
//   u = 1 where m = n = 0;  cos(m pi / (2 m + calls_smooth)) where n = 0;  else sin(f pi / (2 n)),
//   f = 2 n m / (m + n)
// Source: Acting Less is Reasoning More (OTC-GRPO), arXiv:2504.14870, section 3; read in a third
//   party's implementation. Over prompts instead of groups (OTC-PPO) it is the second case alone:
//   calls_against = none.
// Shapes: columns turn/kind [K], correct [B] -> [B].   Knobs: calls_alpha, calls_smooth, calls_kind,
//   calls_against.
// What differs: it replaces the reward. A wrong answer earns nothing even with few calls, so
//   avoiding calls cannot pay by itself. A call is a turn of the kind calls_kind.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace rollcall::objective {

struct FewCalls {
  static constexpr std::string_view
      name = "few_calls",
      formula =
          "r_i = calls_alpha sin(f pi / 2n) if correct, f = 2 n m / (m + n), m calls, n the "
          "fewest of the group's correct ones";
  enum class Against { fewest, none } against = Against::fewest;
  double alpha = 1.0, smooth = 1.0, kind = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("calls_alpha", alpha, {0.0, 1e6}, "largest reward");
    knobs.number("calls_smooth", smooth, {1e-6, 1e6},
                 "where no call is needed: how slowly calls begin to cost");
    knobs.number("calls_kind", kind, {0.0, 1e6}, "kind of a turn that calls");
    knobs.choice("calls_against", against, {"fewest", "none"},
                 "measured against the fewest calls of a correct rollout of the group, or against "
                 "no call");
    knobs.needs.column(column::turn_kind);
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor calls = step.turns.rollout_sum(
                         (step.turns.numbers(step.named(column::turn_kind)) == std::int64_t(kind))
                             .to(at::kDouble)),
                     reward = at::zeros({step.shape.rollouts}, at::kDouble);
    const auto m = calls.accessor<double, 1>(),
               right = step.named(column::correct).accessor<double, 1>();
    auto out = reward.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      double fewest = against == Against::none ? 0.0 : std::numeric_limits<double>::infinity();
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        if (right[i] > 0) fewest = std::min(fewest, m[i]);
      for (auto i = begin[g]; i < begin[g + 1]; ++i)
        if (right[i] > 0) out[i] = alpha * share(m[i], fewest);
    }
    return {reward, {}, {}};
  }

 private:
  double share(double m, double n) const {
    if (n == 0.0) return m == 0.0 ? 1.0 : std::cos(m * std::numbers::pi / (2.0 * m + smooth));
    return std::sin(m / (m + n) * std::numbers::pi);  // f pi / (2 n)
  }
};

}  // namespace rollcall::objective
