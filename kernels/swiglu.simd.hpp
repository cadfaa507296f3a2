// SwiGLU (Shazeer 2020): silu(gate) * up, and its backward pass.
#pragma once

#include "kernels/execution_context.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// sigmoid(x) and 1 - sigmoid(x), both from e = exp(-|x|), so that neither cancels.
struct Sigmoid {
  Vec value, complement;
};

static inline Sigmoid sigmoid(Vec x) {
  const Vec zero = splat(0.0F), one = splat(1.0F);
  const Vec e = exp_nonpositive(zero - max(zero - x, x));
  const Vec large = one / (one + e), small = e * large;
  return {select_less(x, zero, small, large), select_less(x, zero, large, small)};
}

static void swiglu(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                   std::int64_t f, float* y) {
  for (std::int64_t i = 0; i < n * f; i += kLanes) {
    const std::int64_t count = n * f - i;
    const Vec g = load_up_to(gate + i, count);
    store_up_to(y + i, count, g * sigmoid(g).value * load_up_to(up + i, count));
  }
}

/// d silu / dg = s (1 + g (1 - s)).
static void swiglu_backward(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                            std::int64_t f, const float* dy, float* dgate, float* dup) {
  for (std::int64_t i = 0; i < n * f; i += kLanes) {
    const std::int64_t count = n * f - i;
    const Vec g = load_up_to(gate + i, count), u = load_up_to(up + i, count),
              d = load_up_to(dy + i, count);
    const Sigmoid s = sigmoid(g);
    store_up_to(dgate + i, count, d * u * s.value * fma(g, s.complement, splat(1.0F)));
    store_up_to(dup + i, count, d * g * s.value);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
