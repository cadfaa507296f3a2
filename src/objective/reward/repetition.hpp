// Reward repetition: an answer loses by the share of its n-grams of tokens that repeat earlier
// ones.
//   r_i -= repetition_weight (1 - distinct_i / all_i), over the runs of repetition_n tokens of
//   rollout i; nothing where it has none
// Source: Demystifying Long Chain-of-Thought Reasoning, arXiv:2502.03373: the form for whole
//   answers in its released code (reward/repetition.py), which counts words. Its own runs charge
//   every repeated token instead. Runs of 3 are from HAPO, arXiv:2505.11225, where the term is off.
// Shapes: [N] tokens, [B] -> [B].   Knobs: repetition_n, repetition_weight.
// What differs from overlong: a loop of any length is punished, and a long answer without
//   repetitions is not.
#pragma once

#include "objective/ngrams.hpp"

namespace rollcall::objective {

struct Repetition {
  static constexpr std::string_view
      name = "repetition",
      formula = "r_i -= repetition_weight (1 - distinct / all), over runs of n tokens";
  double n = 3.0, weight = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("repetition_n", n, {1.0, 1000.0}, "tokens of a run");
    knobs.loss_use.acts_from([this] { return n + 1.0; }, "repetition_n");
    knobs.number("repetition_weight", weight, {0.0, 1e6}, "reward lost where all runs repeat");
  }

  ShapedReward operator()(const Step& step) const {
    return {step.reward - weight * repeated_share(step, std::int64_t(n)), {}, {}};
  }
};

}  // namespace rollcall::objective
