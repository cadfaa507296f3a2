// Surrogate soft_gate: the ratio passes through a sigmoid instead of a clip.
//   L = -A 4 / tau sigmoid(tau (rho - 1)),  tau = gate_tau_pos where A > 0, else gate_tau_neg
// Source: Soft Adaptive Policy Optimization, arXiv:2511.20347 (tau 1.0 and 1.05).
// Shapes: ratio [M], advantage [M] -> [M].   Knobs: gate_tau_pos, gate_tau_neg.
// What differs from clip: the derivative, 4 s (1 - s) rho A with s the sigmoid, fades on both sides
//   of rho = 1 and never stops; at rho = 1 it equals the policy gradient for any tau.
#pragma once

#include "objective/pieces.hpp"

namespace rollcall::objective {

struct SoftGate {
  static constexpr std::string_view name = "soft_gate",
                                    formula =
                                        "L = -A 4/tau sigmoid(tau (rho-1)), tau by the sign of A";
  double tau_pos = 1.0, tau_neg = 1.05;

  void bind(Knobs& knobs) {
    knobs.number("gate_tau_pos", tau_pos, {1e-3, 1e3}, "steepness where A > 0");
    knobs.number("gate_tau_neg", tau_neg, {1e-3, 1e3}, "steepness where A <= 0");
  }

  SurrogateLoss operator()(const MicroBatchTensors& micro_batch, const at::Tensor& ratio) const {
    const at::Tensor tau =
        at::where(micro_batch.advantage > 0, at::scalar_tensor(tau_pos, at::kDouble),
                  at::scalar_tensor(tau_neg, at::kDouble));
    return {-micro_batch.advantage * (tau * (ratio - 1.0)).sigmoid() * 4.0 / tau, {}};
  }
};

}  // namespace rollcall::objective
