// Reward retries: where answers may be tried again, a later right answer earns less, and repeated
// answers cost.
//   r_i = c_i retry_gamma^(K_i - 1) - retry_lambda (1 - E_i / T_i);  c_i: 1 where the rollout is
//   correct;  K_i: its turns;  T_i: its answers that could be read, E_i: the number of these that
//   it had not given before; if T_i = 0, the second term is 0
// Source: UFO (A Simple "Try Again" Can Elicit Multi-Turn LLM Reasoning), arXiv:2507.14295, and its
//   released code: 1 / 2^t for t turns before, lambda 1/2, five turns.
// Shapes: columns turn/flags [K], correct [B] -> [B].   Knobs: retry_gamma, retry_lambda.
// What differs: it replaces the reward. The conversation ends with its first right answer, so the
//   last turn of a correct rollout is the right one.
#pragma once

#include "core/rollout.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Retries {
  static constexpr std::string_view
      name = "retries",
      formula =
          "r_i = [correct] retry_gamma^(turns before) - retry_lambda (share of repeated "
          "answers)";
  double gamma = 0.5, lambda = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("retry_gamma", gamma, {0.0, 1.0}, "reward of a right answer per turn before it");
    knobs.number("retry_lambda", lambda, {0.0, 1e6}, "cost where all answers are repeated ones");
    knobs.needs.column(column::turn_flags);
    knobs.needs.column(column::correct);
  }

  ShapedReward operator()(const Step& step) const {
    const TurnShape& turns = step.turns;
    const at::Tensor flags = turns.numbers(step.named(column::turn_flags));
    const auto count = [&](std::int64_t without) {
      return turns.rollout_sum((flags.bitwise_and(without) == 0).to(at::kDouble));
    };
    const at::Tensor read = count(turn_flag::invalid),
                     fresh = count(turn_flag::invalid | turn_flag::repeated),
                     before = turns.rollout_sum(at::ones_like(turns.length)) - 1.0;
    const at::Tensor late = at::pow(gamma, before), again = (read - fresh) / read.clamp_min(1.0);
    return {(step.named(column::correct) > 0.5).to(at::kDouble) * late - lambda * again, {}, {}};
  }
};

}  // namespace rollcall::objective
