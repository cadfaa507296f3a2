// Weight dependency: rollouts that depend on the environment's answers count more, and only the
// most dependent tokens of each rollout are trained.
//   d_it = exp(x) - x - 1, x = masked - old: how far the token's log-prob moves if the
//   environment's answers before its turn are masked, an estimate of the divergence
//   w_i = mean_t d_it over its mean in the group;  keep_it = 1 for the ceil(dependency_share T_i)
//   tokens of rollout i of largest d among those still kept
// Source: VPPO, arXiv:2510.09285 (visual dependency, as weight of the trajectory and mask of tokens;
//   0.4 is this project's, because the share was not found in the sources at hand).
// Shapes: column masked_logprob [N] -> [N].   Knobs: dependency_share.
// What differs: the paper corrupts an image and has the exact divergence of two distributions; here
//   a text is masked, and the sampled token estimates it. A group without any dependency has the
//   weight 1, and a rollout without any dependency trains all its tokens. Weights of a group have
//   the mean 1. Equal tokens are chosen by addressed draw.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace rollcall::objective {

struct Dependency {
  static constexpr std::string_view
      name = "dependency",
      formula =
          "w_i = mean d_i / mean of the group, keep the dependency_share tokens of largest d, "
          "d: divergence where what was told is masked";
  double share = 0.4;

  void bind(Knobs& knobs) {
    knobs.number("dependency_share", share, {0.0, 1.0},
                 "share of a rollout's tokens that are trained");
    knobs.needs.column(column::masked_logprob);
  }

  TokenWeight operator()(const Step& step) const {
    const StepShape& shape = step.shape;
    const at::Tensor x =
        (step.named(column::masked_logprob) - step.columns.old_logprob).clamp(-20.0, 20.0);
    const at::Tensor d = (x.exp() - x - 1.0).clamp_min(0.0), of_rollout = shape.rollout_mean(d),
                     there = (shape.length > 0).to(at::kDouble);
    const at::Tensor mean = shape.over_rollouts(shape.group_sum(of_rollout * there) /
                                                shape.group_sum(there).clamp_min(1.0));
    return {shape.over_tokens(at::where(mean > 0, of_rollout / mean.clamp_min(1e-300), 1.0)),
            most(step, d)};
  }

 private:
  /// [N] 1 for the tokens that stay, else 0
  at::Tensor most(const Step& step, const at::Tensor& dependency) const {
    const at::Tensor scores = dependency.to(at::kFloat).contiguous(),
                     draws = step.uniform_tokens(19),
                     open = step.keep.defined() ? step.keep.contiguous()
                                                : at::ones({step.shape.tokens}, at::kDouble),
                     kept = at::zeros({step.shape.tokens}, at::kDouble);
    const auto* score = scores.const_data_ptr<float>();
    const auto *draw = draws.const_data_ptr<double>(), *may = open.const_data_ptr<double>();
    const auto* offset = step.columns.offsets.const_data_ptr<std::int64_t>();
    auto* out = kept.data_ptr<double>();
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
      std::vector<std::int64_t> tokens;
      bool rests = false;
      for (auto t = offset[i]; t < offset[i + 1]; ++t)
        if (may[t] > 0) tokens.push_back(t), rests = rests || score[t] > 0;
      const auto count =
          rests ? std::size_t(std::ceil(share * double(tokens.size()) - 1e-9)) : tokens.size();
      std::sort(tokens.begin(), tokens.end(), [&](auto a, auto b) {
        return score[a] != score[b] ? score[a] > score[b] : draw[a] < draw[b];
      });
      for (std::size_t k = 0; k < count; ++k) out[tokens[k]] = 1.0;
    }
    return kept;
  }
};

}  // namespace rollcall::objective
