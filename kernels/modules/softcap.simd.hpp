// cap tanh(x / cap), which keeps scores and logits between -cap and cap (Bello et al. 2017; Gemma
// Team 2024, section 2), and its backward pass.
#pragma once

#include "kernels/execution_context.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// tanh(x) = (1 - e) / (1 + e) with e = exp(-2 |x|) and the sign of x. The error is below 2e-7.
static inline Vec tanh_of(Vec x) {
  const Vec zero = splat(0.0F), one = splat(1.0F);
  const Vec e = exp_nonpositive(splat(-2.0F) * max(zero - x, x));
  const Vec size = (one - e) / (one + e);
  return select_less(x, zero, zero - size, size);
}

/// 1 - t^2, the derivative of tanh where its value is t.
static inline Vec slope_of(Vec t) { return fma(splat(0.0F) - t, t, splat(1.0F)); }

static void softcap(ExecutionContext&, float* x, std::int64_t n, float cap) {
  for (std::int64_t i = 0; i < n; i += kLanes)
    store_up_to(x + i, n - i, splat(cap) * tanh_of(load_up_to(x + i, n - i) / splat(cap)));
}

static void softcap_backward(ExecutionContext&, const float* z, float* dz, std::int64_t n,
                             float cap) {
  for (std::int64_t i = 0; i < n; i += kLanes) {
    const Vec slope = slope_of(load_up_to(z + i, n - i) / splat(cap));
    store_up_to(dz + i, n - i, load_up_to(dz + i, n - i) * slope);
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
