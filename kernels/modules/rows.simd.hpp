// The kernels of norms and rotary embedding in the forms that module_kernels.hpp adds.
#pragma once

#include "kernels/rms_norm.simd.hpp"
#include "kernels/rope.simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

/// 1 + weight, in scratch memory.
static inline const float* plus_one(ExecutionContext& context, const float* weight,
                                    std::int64_t d) {
  float* sum = context.workspace.floats(static_cast<std::size_t>(d));
  for (std::int64_t j = 0; j < d; j += kLanes)
    store_up_to(sum + j, d - j, splat(1.0F) + load_up_to(weight + j, d - j));
  return sum;
}

static void rms_norm_plus_one(ExecutionContext& context, const float* x, std::int64_t n,
                              std::int64_t d, const float* weight, float eps, float* y) {
  rms_norm(context, x, n, d, plus_one(context, weight, d), eps, y);
}
static void rms_norm_plus_one_backward(ExecutionContext& context, const float* x, std::int64_t n,
                                       std::int64_t d, const float* weight, float eps,
                                       const float* dy, float* dx, float* dweight) {
  rms_norm_backward(context, x, n, d, plus_one(context, weight, d), eps, dy, dx, dweight);
}

static void rope_partial(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads,
                         std::int64_t head_dim, std::int64_t rotary_dim,
                         const std::int32_t* position, const float* cos, const float* sin,
                         int direction) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = 0; h < heads; ++h)
      rope(context, x + (i * heads + h) * head_dim, 1, 1, rotary_dim, position + i, cos, sin,
           direction);
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
