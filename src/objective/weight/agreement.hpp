// Weight agreement: prompts whose rollouts do not agree on an answer push less.
//   w_g = exp(-agreement_alpha u_g),  u_g = n / (n - 1) (1 - sum_a p_a^2): the chance that two
//   rollouts of the group answer differently; u = 0 for a group of one
// Source: Q-Hawkeye, arXiv:2601.22920, and its released trainer: exp(-0.2 u), u the variance of the
//   predicted scores over the largest possible variance.
// Shapes: column answer [B] -> [N].   Knobs: agreement_alpha.
// What differs from none: there is one factor for each prompt, which is 1 where all rollouts agree
//   and falls with their disagreement. The paper's answers are numbers and have a variance. For
//   answers that are only equal or different, the chance of a difference takes its place. For two
//   rollouts at both ends of the scale it gives the same u.
#pragma once

#include "objective/answers.hpp"

namespace rollcall::objective {

struct Agreement {
  static constexpr std::string_view
      name = "agreement",
      formula = "w_g = exp(-agreement_alpha u), u = chance that two answers of the group differ";
  double alpha = 0.2;

  void bind(Knobs& knobs) {
    knobs.number("agreement_alpha", alpha, {0.0, 1e6},
                 "how fast the weight falls with the chance that two answers differ");
    knobs.needs.column(column::answer);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor apart = at::zeros({step.shape.prompts}, at::kDouble);
    auto out = apart.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    const auto given = votes(step);
    for (std::size_t g = 0; g < given.size(); ++g) {
      const double n = double(begin[g + 1] - begin[g]);
      double pairs = n * (n - 1.0);
      for (const auto& [unused, count] : given[g]) pairs -= count * (count - 1.0);
      if (n > 1) out[std::int64_t(g)] = pairs / (n * (n - 1.0));
    }
    return {step.shape.over_tokens(step.shape.over_rollouts((-alpha * apart).exp())), {}};
  }
};

}  // namespace rollcall::objective
