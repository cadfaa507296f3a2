// Reward diversity: an answer gains by how rarely it repeats itself.
//   r_i += diversity_weight (distinct_i - 1) / (all_i - 1), over the runs of diversity_n tokens of
//   rollout i; 0 with fewer than two runs
// Source: MultiRole-R1, arXiv:2507.20187: accuracy plus lexical diversity by distinct n-grams. From
//   its description: form, n and weight are inferred.
// Shapes: [N] tokens, [B] -> [B].   Knobs: diversity_n, diversity_weight.
// What differs from repetition: it is a bonus, which is 0 where one n-gram is repeated throughout
//   and 1 where all differ. The paper's other term counts perspectives, for which a verifier is
//   needed (as a component).
#pragma once

#include "objective/ngrams.hpp"

namespace rollcall::objective {

struct Diversity {
  static constexpr std::string_view
      name = "diversity",
      formula = "r_i += diversity_weight (distinct - 1) / (all - 1), over runs of n tokens";
  double n = 2.0, weight = 0.1;

  void bind(Knobs& knobs) {
    knobs.number("diversity_n", n, {1.0, 1000.0}, "tokens of a run");
    knobs.number("diversity_weight", weight, {0.0, 1e6},
                 "reward of an answer whose runs all differ");
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor bonus = at::zeros({step.shape.rollouts}, at::kDouble);
    auto out = bonus.accessor<double, 1>();
    const auto counted = ngrams(step, std::int64_t(n));
    for (std::size_t i = 0; i < counted.size(); ++i) {
      if (counted[i].all > 1)
        out[std::int64_t(i)] = weight * (counted[i].distinct - 1) / (counted[i].all - 1);
    }
    return {step.reward + bonus, {}, {}};
  }
};

}  // namespace rollcall::objective
