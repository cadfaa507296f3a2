// Reference for the gates of MLPs and their backward passes.
#include "kernels/modules/reference.hpp"
#include "kernels/reference.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::kernels::reference {
namespace {

/// A function of a gate and of `up`, and its derivatives.
struct Gated {
  double value, by_gate, by_up;
};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

Gated gelu_tanh(double gate, double up) {
  const double kRoot = std::sqrt(2.0 / M_PI), kCubic = 0.044715;
  const double t = std::tanh(kRoot * (gate + kCubic * gate * gate * gate)),
               gelu = 0.5 * gate * (1.0 + t),
               slope = 0.5 * (1.0 + t) +
                       0.5 * gate * (1.0 - t * t) * kRoot * (1.0 + 3.0 * kCubic * gate * gate);
  return {gelu * up, slope * up, gelu};
}

Gated silu_clamped(double gate, double up) {
  const double limit = kClampLimit, alpha = kClampedAlpha;
  const double g = std::min(gate, limit), u = std::clamp(up, -limit, limit) + 1.0,
               s = sigmoid(alpha * g);
  return {u * g * s, gate > limit ? 0.0 : u * s * (1.0 + alpha * g * (1.0 - s)),
          std::abs(up) > limit ? 0.0 : g * s};
}

}  // namespace

void gated(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
           std::int64_t f, Gate form, float* y) {
  if (form == Gate::silu) return swiglu(context, gate, up, n, f, y);
  const auto function = form == Gate::gelu_tanh ? gelu_tanh : silu_clamped;
  for (std::int64_t i = 0; i < n * f; ++i)
    y[i] = static_cast<float>(function(gate[i], up[i]).value);
}

void gated_backward(ExecutionContext& context, const float* gate, const float* up, std::int64_t n,
                    std::int64_t f, const float* dy, Gate form, float* dgate, float* dup) {
  if (form == Gate::silu) return swiglu_backward(context, gate, up, n, f, dy, dgate, dup);
  const auto function = form == Gate::gelu_tanh ? gelu_tanh : silu_clamped;
  for (std::int64_t i = 0; i < n * f; ++i) {
    const Gated result = function(gate[i], up[i]);
    dgate[i] = static_cast<float>(dy[i] * result.by_gate);
    dup[i] = static_cast<float>(dy[i] * result.by_up);
  }
}

}  // namespace rollcall::kernels::reference
