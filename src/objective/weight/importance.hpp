// Weight importance: importance of the old policy over the one that generated the tokens, by token
// or by rollout, bounded.
//   token: w_it = exp(old_it - rollout_it);  product: the rollout's product of them;  mean: their
//   geometric mean;  log-weight within +-20, frozen
//   outside [importance_low, importance_high] it is held at the bound (cap) or is 0 (zero);
//   importance_normalize: divided by its mean
//   importance_of current: of the policy that this optimizer step starts from (VCPO,
//   arXiv:2602.17616), for surrogates without a ratio
// Source: verl's rollout correction (token and sequence truncated importance sampling, IcePop,
//   batch normalisation); masked importance sampling as in TRL's vllm_importance_sampling_mode.
// Shapes: [N] -> [N].   Knobs: importance_scope, importance_of, importance_low, importance_high,
//   importance_outside, importance_normalize.
// What differs from tis, which is token and cap without a lower bound: there are weights of whole
//   rollouts, and masks. A token of weight 0 stays in the denominators. The mean is taken over the
//   tokens kept so far (token), or over the rollouts that have one (product, mean).
// With importance_of current it acts at every update, on the update's rollouts: B, N and means are
// the update's.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct Importance {
  static constexpr std::string_view
      name = "importance",
      formula = "w = exp(old - rollout) by token, product or mean, capped or 0 outside";
  enum class Scope { token, product, mean };
  enum class Of { old, current };
  enum class Outside { cap, zero };
  enum class Normalize { no, yes };
  Scope scope = Scope::token;
  Of of = Of::old;
  Outside outside = Outside::cap;
  Normalize normalize = Normalize::no;
  double low = 0.0, high = 2.0;

  void bind(Knobs& knobs) {
    knobs.loss_use.idle_on_policy();
    knobs.choice("importance_scope", scope, {"token", "product", "mean"},
                 "token weights, their product or their geometric mean over the rollout");
    knobs.choice("importance_of", of, {"old", "current"},
                 "the policy whose probability is over the sampler's");
    knobs.number("importance_low", low, {0.0, 1.0}, "smallest weight");
    knobs.number("importance_high", high, {1.0, 1e9}, "largest weight");
    knobs.choice("importance_outside", outside, {"cap", "zero"},
                 "what becomes of a weight outside");
    knobs.choice("importance_normalize", normalize, {"no", "yes"},
                 "divide by the step's mean weight");
    knobs.needs.column([this] { return of == Of::current; }, column::current_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    at::Tensor log_weight =
        (of == Of::old ? step.columns.old_logprob : step.named(column::current_logprob)) -
        step.columns.rollout_logprob;
    if (scope != Scope::token)
      log_weight =
          step.shape.over_tokens(scope == Scope::product ? step.shape.rollout_sum(log_weight)
                                                         : step.shape.rollout_mean(log_weight));
    const at::Tensor free = log_weight.clamp(-20.0, 20.0).exp(), bounded = free.clamp(low, high);
    const at::Tensor weight =
        outside == Outside::cap ? bounded : at::where(bounded == free, free, 0.0);
    if (normalize == Normalize::no) return {weight, {}};
    const at::Tensor keep = step.keep.defined() ? step.keep : at::ones_like(weight);
    // Each token has its rollout's weight, so dividing by the number of tokens counts it once.
    const at::Tensor counted =
        scope == Scope::token
            ? keep
            : keep / step.shape.over_tokens(step.shape.rollout_sum(keep)).clamp_min(1.0);
    const at::Tensor mean = (weight * counted).sum() / counted.sum().clamp_min(1.0);
    return {weight / mean.clamp_min(1e-12), {}};
  }
};

}  // namespace rollcall::objective
