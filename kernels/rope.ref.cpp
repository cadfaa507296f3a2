// Reference for rotary position embedding (Su et al. 2021), rotate-half pairing.
#include "kernels/modules/reference.hpp"
#include "kernels/reference.hpp"

namespace rollcall::kernels::reference {

void rope(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads, std::int64_t head_dim,
          const std::int32_t* position, const float* cos, const float* sin, int direction) {
  const std::int64_t half = head_dim / 2;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 0; j < half; ++j) {
        float& first = x[(i * heads + h) * head_dim + j];
        float& second = x[(i * heads + h) * head_dim + half + j];
        const double a = first, b = second, c = cos[position[i] * half + j],
                     s = direction * static_cast<double>(sin[position[i] * half + j]);
        first = static_cast<float>(a * c - b * s);
        second = static_cast<float>(b * c + a * s);
      }
}

void rope_partial(ExecutionContext& context, float* x, std::int64_t n, std::int64_t heads,
                  std::int64_t head_dim, std::int64_t rotary_dim, const std::int32_t* position,
                  const float* cos, const float* sin, int direction) {
  for (std::int64_t i = 0; i < n * heads; ++i)
    rope(context, x + i * head_dim, 1, 1, rotary_dim, position + i / heads, cos, sin, direction);
}

}  // namespace rollcall::kernels::reference
