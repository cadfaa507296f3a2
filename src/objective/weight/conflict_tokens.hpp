// Weight conflict_tokens: a token that rewarded and punished answers of a group have in common at
// the same place is not punished.
//   A token is in conflict where an answer of opposite sign has the same token at the same place,
//   in an unbroken run from the start (aligned left) or
//   from the end (aligned right). w_it = conflict_gain per run that holds it where r_i > mean_g, 0
//   where r_i < mean_g; else 1
// Source: GTPO, arXiv:2508.03772, section 4 (gain 2; a token in both runs counts twice).
// Shapes: [N] token ids, [B] -> [N].   Knobs: conflict_gain.
// What differs from none: shared formatting and opening tokens are no longer pushed both up and
//   down. The released code also divides by the number of conflict tokens; this piece does not.
#pragma once

#include "base/errors/error.hpp"
#include "base/numbers/differing.hpp"
#include "objective/pieces.hpp"

#include <vector>

namespace rollcall::objective {

struct ConflictTokens {
  static constexpr std::string_view
      name = "conflict_tokens",
      formula = "w_it = gain (r > mean) or 0 (r < mean) for tokens shared across signs, else 1";
  double gain = 2.0;

  void bind(Knobs& knobs) {
    knobs.number("conflict_gain", gain, {0.0, 1e6},
                 "weight of a conflict token in a rewarded answer");
  }

  TokenWeight operator()(const Step& step) const {
    expect(step.columns.token.defined(), "weight conflict_tokens needs the token ids of the step");
    at::Tensor weight = at::ones({step.shape.tokens}, at::kDouble);
    auto out = weight.accessor<double, 1>();
    const at::Tensor lead =
        step.reward - step.shape.over_rollouts(step.shape.group_mean(step.reward));
    const auto offset = step.columns.offsets.accessor<std::int64_t, 1>(),
               token = step.columns.token.accessor<std::int64_t, 1>();
    const auto led = lead.accessor<double, 1>(), reward = step.reward.accessor<double, 1>();
    std::vector<double> sign;  // 0 where the rollout's reward is its group's mean
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i)
      sign.push_back(differ(reward[i], reward[i] - led[i]) ? led[i] : 0.0);
    const auto& begin = step.shape.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      for (auto i = begin[g]; i < begin[g + 1]; ++i) {
        if (sign[std::size_t(i)] == 0.0) continue;
        const auto length = [&](auto r) { return offset[r + 1] - offset[r]; };
        for (const bool right : {false, true}) {
          const auto at = [&](auto r, auto t) {
            return right ? offset[r + 1] - 1 - t : offset[r] + t;
          };
          for (std::int64_t t = 0; t < length(i); ++t) {
            bool shared = false;
            for (auto j = begin[g]; j < begin[g + 1] && !shared; ++j) {
              shared = sign[std::size_t(i)] * sign[std::size_t(j)] < 0 && t < length(j) &&
                       token[at(i, t)] == token[at(j, t)];
            }
            if (!shared) break;
            out[at(i, t)] *= sign[std::size_t(i)] > 0 ? gain : 0.0;
          }
        }
      }
    }
    return {weight, {}};
  }
};

}  // namespace rollcall::objective
