// Advantage consistency_blend: within the group where answers differ, between prompts where they agree.
//   A_i = w_g L_i + (1 - w_g) G_g;  L_i = group_norm;  G_g = (mean_g - mean) / (std + eps) of the prompts' mean rewards, std with P - 1;
//   w_g = sigmoid(blend_gamma (H_g - blend_rho)), H_g the entropy of the distinct answers of the group, in bits
// Source: COPO, arXiv:2508.04138, section 3, and its released code (log2, torch.std; gamma 20 and rho 1.5 in its scripts).
// Shapes: [B] -> [N].   Knobs: blend_gamma, blend_rho, adv_eps.
// What differs from group_norm: all-right and all-wrong groups still carry signal. The paper blends two losses; blending their advantages is the same
//   wherever neither is clipped. Groups without tokens are not among the prompts.
#pragma once

#include "objective/advantage/group_norm.hpp"
#include "objective/pieces.hpp"

#include <cmath>
#include <map>

namespace rollcall::objective {

struct ConsistencyBlend {
  static constexpr std::string_view name = "consistency_blend", formula = "A = w group_norm + (1-w) prompt_norm, w = sigmoid(gamma (H(answers) - rho))";
  GroupNorm local;
  double gamma = 20.0, rho = 1.5;

  void bind(Knobs& knobs) {
    local.bind(knobs);
    knobs.number("blend_gamma", gamma, {0.0, 1e6}, "steepness of the blend");
    knobs.number("blend_rho", rho, {0.0, 1e6}, "entropy of answers, in bits, at which both halves weigh the same");
    knobs.needs_column(column::answer);
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor counted = (step.group_sum(step.length) > 0).to(at::kDouble), prompts = counted.sum(), share = counted / prompts.clamp_min(1.0);
    const at::Tensor rate = step.group_mean(step.reward), centred = rate - (rate * share).sum();
    const at::Tensor global = centred / (((centred.square() * counted).sum() / (prompts - 1.0).clamp_min(1.0)).sqrt() + local.eps);
    const at::Tensor w = (gamma * (answer_entropy(step) - rho)).sigmoid();
    return step.over_tokens(step.over_rollouts(w)) * local(step) + step.over_tokens(step.over_rollouts((1.0 - w) * global));
  }

  static at::Tensor answer_entropy(const Step& step) {
    at::Tensor entropy = at::zeros({step.prompts}, at::kDouble);
    auto out = entropy.accessor<double, 1>();
    const auto answer = step.named(column::answer).accessor<double, 1>();
    const auto& begin = step.group_begin();
    for (std::size_t g = 0; g + 1 < begin.size(); ++g) {
      std::map<std::int64_t, double> count;
      for (auto i = begin[g]; i < begin[g + 1]; ++i) count[std::int64_t(answer[i])] += 1.0;
      for (const auto& [unused, c] : count) out[std::int64_t(g)] -= c / double(begin[g + 1] - begin[g]) * std::log2(c / double(begin[g + 1] - begin[g]));
    }
    return entropy;
  }
};

}  // namespace rollcall::objective
