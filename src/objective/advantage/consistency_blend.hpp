// Advantage consistency_blend: within the group where answers differ, between prompts where they
// agree.
//   A_i = w_g L_i + (1 - w_g) G_g;  L_i = group_norm;  G_g = (mean_g - mean) / (std + eps) of the
//   prompts' mean rewards, std with P - 1;
//   w_g = sigmoid(blend_gamma (H_g - blend_rho)), H_g the entropy of the distinct answers of the
//   group, in bits
// Source: COPO, arXiv:2508.04138, section 3, and its released code (log2, torch.std; gamma 20 and
//   rho 1.5 in its scripts).
// Shapes: [B] -> [N].   Knobs: blend_gamma, blend_rho, adv_eps.
// What differs from group_norm: groups that are all right or all wrong still carry a signal. The
//   paper blends two losses. Blending their advantages is the same wherever neither loss is
//   clipped. Groups without tokens do not count among the prompts.
#pragma once

#include "objective/advantage/group_norm.hpp"
#include "objective/answers.hpp"

#include <cmath>

namespace rollcall::objective {

struct ConsistencyBlend {
  static constexpr std::string_view
      name = "consistency_blend",
      formula = "A = w group_norm + (1-w) prompt_norm, w = sigmoid(gamma (H(answers) - rho))";
  GroupNorm local;
  double gamma = 20.0, rho = 1.5;

  void bind(Knobs& knobs) {
    local.bind(knobs);
    knobs.number("blend_gamma", gamma, {0.0, 1e6}, "steepness of the blend");
    knobs.number("blend_rho", rho, {0.0, 1e6},
                 "entropy of answers, in bits, at which both halves weigh the same");
    knobs.needs.column(column::answer);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor counted = (step.shape.group_sum(step.shape.length) > 0).to(at::kDouble),
                     prompts = counted.sum();
    const at::Tensor rate = step.shape.group_mean(step.reward),
                     centred = rate - mean_of(rate, counted);
    const at::Tensor global =
        centred /
        (((centred.square() * counted).sum() / (prompts - 1.0).clamp_min(1.0)).sqrt() + local.eps);
    const at::Tensor w = (gamma * (answer_entropy(step) - rho)).sigmoid();
    return step.shape.over_tokens(step.shape.over_rollouts(w)) * local(step) +
           step.shape.over_tokens(step.shape.over_rollouts((1.0 - w) * global));
  }

  static at::Tensor answer_entropy(const Step& step) {
    at::Tensor entropy = at::zeros({step.shape.prompts}, at::kDouble);
    auto out = entropy.accessor<double, 1>();
    const auto& begin = step.shape.group_begin();
    const auto given = votes(step);
    for (std::size_t g = 0; g < given.size(); ++g)
      out[std::int64_t(g)] = entropy_of(given[g], double(begin[g + 1] - begin[g])) / std::log(2.0);
    return entropy;
  }
};

}  // namespace rollcall::objective
