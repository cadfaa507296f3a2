// Rotary position embedding (Su et al. 2021), rotate-half pairing, in place.
#pragma once

#include "kernels/execution_context.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

static void rope(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads,
                 std::int64_t head_dim, const std::int32_t* position, const float* cos,
                 const float* sin, int direction) {
  const std::int64_t half = head_dim / 2;
  const Vec sign = splat(static_cast<float>(direction));
  for (std::int64_t i = 0; i < n; ++i) {
    const float *c = cos + position[i] * half, *s = sin + position[i] * half;
    for (std::int64_t h = 0; h < heads; ++h) {
      float* head = x + (i * heads + h) * head_dim;
      for (std::int64_t j = 0; j < half; j += kLanes) {
        const std::int64_t count = half - j;
        const Vec cosine = load_up_to(c + j, count), sine = load_up_to(s + j, count) * sign;
        const Vec a = load_up_to(head + j, count), b = load_up_to(head + half + j, count);
        store_up_to(head + j, count, fma(a, cosine, splat(0.0F) - b * sine));
        store_up_to(head + half + j, count, fma(b, cosine, a * sine));
      }
    }
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
