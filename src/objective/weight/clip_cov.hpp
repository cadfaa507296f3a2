// Weight clip_cov: a few tokens, drawn from those with a large covariance of log-probability and
// advantage, do not push.
//   cov_it = (A_it - mean A)(current_it - mean current);  candidates: cov_low < cov < cov_high, not
//   bounded by the clip
//   w_it = 0 for max(1, floor(cov_share N)) candidates drawn at random, else 1
// Source: The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models,
//   arXiv:2505.22617, Clip-Cov (1, 5 and 2e-4; clip widths 1 in its scripts).
// Shapes: [N] -> [N].   Knobs: cov_share, cov_low, cov_high, cov_clip_low, cov_clip_high.
// What differs from clip: it leaves out the tokens that lower the entropy most, regardless of their
//   ratio. Means and N are taken over the tokens kept so far, under the policy that this optimizer
//   step starts from (column current_logprob). The draw does not depend on order or rank.
// Acts at every update, on the update's rollouts: B, N and means are the update's.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct ClipCov {
  static constexpr std::string_view
      name = "clip_cov",
      formula = "w_it = 0 for a random share of the tokens with cov_low < cov(A, lp) < cov_high";
  static constexpr std::uint64_t purpose = 0xC11C;  // address of the random numbers
  double share = 2e-4, low = 1.0, high = 5.0, clip_low = 1.0, clip_high = 1.0;

  void bind(Knobs& knobs) {
    knobs.number("cov_share", share, {0.0, 1.0},
                 "share of the step's tokens that is taken out, at least one");
    knobs.number("cov_low", low, {-1e6, 1e6}, "covariance above which a token is a candidate");
    knobs.number("cov_high", high, {-1e6, 1e6}, "covariance below which it is one");
    knobs.number("cov_clip_low", clip_low, {0.0, 1.0},
                 "the surrogate's lower width: bounded tokens are no candidates");
    knobs.number("cov_clip_high", clip_high, {0.0, 1e6}, "the surrogate's upper width");
    knobs.needs.column(column::current_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const at::Tensor keep =
        step.keep.defined() ? step.keep : at::ones({step.shape.tokens}, at::kDouble);
    const at::Tensor &current = step.named(column::current_logprob), &a = step.advantage;
    const double n = keep.sum().item<double>();
    const auto centred = [&](const at::Tensor& x) {
      return x - (x * keep).sum() / std::max(n, 1.0);
    };
    const at::Tensor cov = centred(a) * centred(current),
                     ratio = (current - step.columns.old_logprob).clamp(-20.0, 20.0).exp();
    const at::Tensor bounded = (a > 0)
                                   .logical_and(ratio > 1.0 + clip_high)
                                   .logical_or((a < 0).logical_and(ratio < 1.0 - clip_low));
    const at::Tensor candidate = (cov > low)
                                     .logical_and(cov < high)
                                     .logical_and(keep > 0)
                                     .logical_and(bounded.logical_not());
    const auto taken = std::min(std::max<std::int64_t>(1, std::int64_t(share * n)),
                                candidate.sum().item<std::int64_t>());
    if (taken == 0) return {};
    const at::Tensor drawn = at::where(candidate, step.uniform_tokens(purpose), 2.0);
    return {at::ones({step.shape.tokens}, at::kDouble)
                .index_fill_(0, std::get<1>(drawn.topk(taken, 0, /*largest=*/false)), 0.0),
            {}};
  }
};

}  // namespace rollcall::objective
