// Root-mean-square normalisation (Zhang and Sennrich 2019) and its backward pass, row by row.
#pragma once

#include "kernels/execution_context.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// 1 / sqrt(mean(x^2) + eps) of one row.
static inline float inverse_rms(const float* x, std::int64_t d, float eps) {
  Vec sum = splat(0.0F);
  for (std::int64_t j = 0; j < d; j += kLanes) {
    const Vec v = load_up_to(x + j, d - j);
    sum = fma(v, v, sum);
  }
  return 1.0F / __builtin_sqrtf(fold_sum(sum) / static_cast<float>(d) + eps);
}

static void rms_norm(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                     const float* weight, float eps, float* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Vec inverse = splat(inverse_rms(x + i * d, d, eps));
    for (std::int64_t j = 0; j < d; j += kLanes) {
      const Vec scaled = load_up_to(x + i * d + j, d - j) * inverse;
      store_up_to(y + i * d + j, d - j, scaled * load_up_to(weight + j, d - j));
    }
  }
}

/// With r = inverse rms and c = mean(x w dy): dx = r (w dy - x r^2 c), dweight += dy x r.
static void rms_norm_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                              const float* weight, float eps, const float* dy, float* dx,
                              float* dweight) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float *xi = x + i * d, *dyi = dy + i * d;
    const float r = inverse_rms(xi, d, eps);
    Vec sum = splat(0.0F);
    for (std::int64_t j = 0; j < d; j += kLanes)
      sum = fma(load_up_to(xi + j, d - j) * load_up_to(weight + j, d - j),
                load_up_to(dyi + j, d - j), sum);
    const Vec inverse = splat(r), pull = splat(-(r * r * (fold_sum(sum) / static_cast<float>(d))));
    for (std::int64_t j = 0; j < d; j += kLanes) {
      const std::int64_t count = d - j;
      const Vec v = load_up_to(xi + j, count), g = load_up_to(dyi + j, count);
      store_up_to(dweight + j, count, fma(g, v * inverse, load_up_to(dweight + j, count)));
      store_up_to(dx + i * d + j, count, inverse * fma(v, pull, load_up_to(weight + j, count) * g));
    }
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
