// Reward degenerate: an answer that loops or runs into the token limit gets one fixed bad reward.
//   r_i = degenerate_reward where rollout i was cut off, or the share of its runs of degenerate_n
//   tokens that repeat is above degenerate_share
// Source: T1, arXiv:2501.11651: -1 for repeated, overlong or garbled answers. Runs of 4 tokens and
//   the share of a half are this project's.
// Shapes: [N] tokens, [B] -> [B].   Knobs: degenerate_reward, degenerate_n, degenerate_share.
// What differs from repetition and overlong: there is no slope, and the verifier's reward is lost.
//   Tokens do not show whether a text is garbled. A verifier's component can show it, with reward
//   constrained.
#pragma once

#include "objective/ngrams.hpp"

namespace rollcall::objective {

struct Degenerate {
  static constexpr std::string_view name = "degenerate",
                                    formula =
                                        "r_i = degenerate_reward where cut off or mostly repeated";
  double bad = -1.0, n = 4.0, share = 0.5;

  void bind(Knobs& knobs) {
    knobs.number("degenerate_reward", bad, {-1e6, 1e6},
                 "reward of an answer that loops or was cut off");
    knobs.number("degenerate_n", n, {1.0, 1000.0}, "tokens of a run");
    knobs.number("degenerate_share", share, {0.0, 1.0},
                 "share of repeated runs above which an answer loops");
  }

  ShapedReward operator()(const Step& step) const {
    const at::Tensor lost =
        step.columns.truncated.logical_or(repeated_share(step, std::int64_t(n)) > share);
    return {step.reward.masked_fill(lost, bad), {}, {}};
  }
};

}  // namespace rollcall::objective
