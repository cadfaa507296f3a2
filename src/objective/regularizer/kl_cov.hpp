// Regularizer kl_cov: the tokens with the largest covariance of log-probability and advantage are
// held at the old policy.
//   loss += kl_cov_coef * |lp - old| for the max(1, floor(kl_cov_share N)) tokens of largest cov;
//   cov_it = (A_it - mean A)(current_it - mean current)
// Source: The Entropy Mechanism of Reinforcement Learning for Reasoning Language Models,
//   arXiv:2505.22617, KL-Cov (coefficient 1, share 2e-4).
// Shapes: [M] -> [M].   Knobs: kl_cov_coef, kl_cov_share.
// What differs from kl: it acts on a few tokens instead of all. Means, N and ranks are taken over
//   the step's trained tokens, under the policy that this optimizer step starts from (column
//   current_logprob). Tokens that tie with the last one are taken as well, so the order does not
//   matter.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::objective {

struct KlCov {
  static constexpr std::string_view name = "kl_cov",
                                    formula =
                                        "kl_cov_coef * |lp - old| where cov(A, lp) is largest";
  double coef = 1.0, share = 2e-4;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.number("kl_cov_coef", coef, {0.0, 1e6}, "weight of the penalty on a chosen token");
    knobs.number("kl_cov_share", share, {0.0, 1.0},
                 "share of the step's tokens that is chosen, at least one");
    knobs.needs.column(column::current_logprob);
  }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    return coef * micro_batch.take(chosen(micro_batch.step)) *
           (micro_batch.logprob - micro_batch.old_logprob).clamp(-20.0, 20.0).abs();
  }

 private:
  at::Tensor chosen(const Step& step) const {
    const at::Tensor keep =
        step.keep.defined() ? step.keep : at::ones({step.shape.tokens}, at::kDouble);
    const auto centred = [&](const at::Tensor& x) {
      return x - (x * keep).sum() / step.normalizer.tokens;
    };
    const at::Tensor cov = centred(step.advantage) * centred(step.named(column::current_logprob)),
                     trained = cov.masked_select(keep > 0);
    if (trained.numel() == 0) return at::zeros_like(keep);
    const auto count = std::max<std::int64_t>(1, std::int64_t(share * double(trained.numel())));
    // Values that are equal up to rounding are taken together, because sums in another order must
    // not change the choice.
    const double least = std::get<0>(trained.topk(count)).min().item<double>();
    return (cov >= least - 1e-9 * (1.0 + std::abs(least))).to(at::kDouble) * keep;
  }
};

}  // namespace rollcall::objective
