// Regularizer adaptive_entropy: an entropy bonus that is on only while the entropy is low, with a
// coefficient that a controller sets.
//   loss -= c [mean entropy of the step <= target] H_it;  c and target: statistics entropy_coef and
//   entropy_target, set by reward entropy_controller
// Source: Skywork-OR1, arXiv:2505.22312, section on adaptive entropy control: alpha_k = c_k 1{e_k
//   <= target}.
// Shapes: entropy [M] -> [M].   Knobs: none.
// What differs from entropy: the coefficient is a state of the run that earlier steps have set. It
//   is 0 without the controller, and in the controller's first step. The step's entropy decides
//   whether the bonus is on in this step. It is the entropy of the policy that sampled the step
//   (column old_entropy), over all its rollouts, so every update of the step takes the same
//   decision.
#pragma once

#include "objective/pieces.hpp"

#include <algorithm>

namespace rollcall::objective {

struct AdaptiveEntropy {
  static constexpr std::string_view
      name = "adaptive_entropy",
      formula = "-c [mean old_entropy <= target] H_it, c moved by entropy_controller";

  void bind(Knobs& knobs) { knobs.needs.column(column::old_entropy); }

  at::Tensor operator()(const MicroBatchTensors& micro_batch) const {
    const Step& step = micro_batch.step.whole();
    const double mean = step.named(column::old_entropy).sum().item<double>() /
                        double(std::max<std::int64_t>(step.shape.tokens, 1));
    const double coef =
        mean <= step.statistic("entropy_target", 0.0) ? step.statistic("entropy_coef", 0.0) : 0.0;
    return -coef * micro_batch.entropy;
  }
};

}  // namespace rollcall::objective
