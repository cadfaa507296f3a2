// Reference for rotary position embedding (Su et al. 2021), rotate-half pairing.
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

}  // namespace rollcall::kernels::reference
