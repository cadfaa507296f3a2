// Advantage step_potential: the group's advantage, reduced once the answer has been found, plus the
// gain of each reasoning step.
//   Phi_k = 1.5 acc_k conf_k + 0.5 acc_k - conf_k after step k;  A_it = f_k A_i + shaping (Phi_k -
//   Phi_k-1) on the tokens of step k, without the second term on
//   the first step;  f_k = saturated_share where A_i > 0 and an earlier step had Phi > saturation,
//   else 1.  A_it = A_i after the last step
// Source: Step Potential Advantage Estimation, arXiv:2601.03823; Phi, 0.9 and the first step are
//   from its released probe. f and the weight of the gain are inferred.
// Shapes: [B], [N] columns reasoning_step, probe_accuracy, probe_confidence -> [N].
// Knobs: adv_eps, moments_of, saturation, saturated_share, shaping.
// What differs from group_norm: steps that bring the policy nearer to the answer earn more than
//   other steps. Steps that check an answer which is already found earn less, while the final
//   answer after them earns the full advantage, so ending pays. A negative advantage is not
//   reduced, because otherwise checking would soften a failure.
#pragma once

#include "objective/advantage/group_norm.hpp"
#include "objective/pieces.hpp"

namespace rollcall::objective {

struct StepPotential {
  static constexpr std::string_view
      name = "step_potential",
      formula = "A_it = f_k A_i + shaping (Phi_k - Phi_k-1), Phi = 1.5 acc conf + 0.5 acc - conf";
  GroupNorm outcome;
  double saturation = 0.9, share = 0.5, shaping = 0.5;

  void bind(Knobs& knobs) {
    outcome.bind(knobs);
    knobs.number("saturation", saturation, {-1.0, 1.0},
                 "potential above which the answer counts as found");
    knobs.number("saturated_share", share, {0.0, 1.0},
                 "share of a positive advantage that is left to the steps behind it");
    knobs.number("shaping", shaping, {0.0, 1e6},
                 "advantage per unit of potential that a step gained");
    for (const char* read :
         {column::reasoning_step, column::probe_accuracy, column::probe_confidence})
      knobs.needs.column(read);
  }

  static at::Tensor potential(const at::Tensor& accuracy, const at::Tensor& confidence) {
    return 1.5 * accuracy * confidence + 0.5 * accuracy - confidence;
  }

  at::Tensor operator()(const Step& step) const {
    const at::Tensor number = step.named(column::reasoning_step).contiguous();
    const at::Tensor phi =
        potential(step.named(column::probe_accuracy), step.named(column::probe_confidence))
            .contiguous();
    at::Tensor advantage = outcome(step).contiguous();
    const double *k = number.const_data_ptr<double>(), *potential_of = phi.const_data_ptr<double>();
    const auto* offset = step.columns.offsets.const_data_ptr<std::int64_t>();
    auto* a = advantage.data_ptr<double>();
    for (std::int64_t i = 0; i < step.shape.rollouts; ++i) {
      double gain = 0.0;
      bool found = false;
      for (std::int64_t t = offset[i]; t < offset[i + 1] && k[t] >= 0; ++t) {
        if (t > offset[i] && k[t] != k[t - 1])
          gain = potential_of[t] - potential_of[t - 1],
          found = found || potential_of[t - 1] > saturation;
        a[t] = (found && a[t] > 0 ? share * a[t] : a[t]) + shaping * gain;
      }
    }
    return advantage;
  }
};

}  // namespace rollcall::objective
