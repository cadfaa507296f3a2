// Advantage group_whiten: rewards standardised within their group, and once more over the tokens of
// the step.
//   a_i = (r_i - mean_g) / (std_g + eps);  A_it = (a_i - mean) / (std + eps) over the step's
//   tokens; both std with n - 1
// Source: AReaL's released examples (reward_norm by group, adv_norm by batch; eps 1e-5), for
//   arXiv:2505.24298, which standardises advantages over the global batch.
// Shapes: [B] rewards -> [N].   Knobs: adv_eps.
// What differs from group_norm: the step's advantages have unit spread even when most groups have
//   equal rewards, and mean zero over tokens. Where right and wrong answers differ in length,
//   tokens of groups with equal rewards are therefore moved as well. A group of one brings its
//   plain reward into the moments.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct GroupWhiten {
  static constexpr std::string_view
      name = "group_whiten",
      formula =
          "A = (a - mean) / (std + adv_eps) over the step's tokens, std with n - 1, a = group_norm";
  double eps = 1e-5;

  void bind(Knobs& knobs) {
    knobs.number("adv_eps", eps, {1e-12, 1.0}, "added to both standard deviations");
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor spread =
        at::where(step.shape.over_rollouts(step.shape.group_size) > 1, step.spread() + eps, 1.0);
    const at::Tensor a = step.shape.over_tokens((step.reward - step.baseline()) / spread);
    const double count = double(step.shape.tokens);
    if (count < 2) return a;
    const at::Tensor centred = a - mean_of(a);
    return centred / ((centred.square().sum() / (count - 1)).sqrt() + eps);
  }
};

}  // namespace rollcall::objective
