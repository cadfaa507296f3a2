// Reference for SwiGLU (Shazeer 2020) and its backward pass.
#include "kernels/reference.hpp"

#include <cmath>

namespace rollcall::kernels::reference {

void swiglu(ExecutionContext&, const float* gate, const float* up, std::int64_t n, std::int64_t f,
            float* y) {
  for (std::int64_t i = 0; i < n * f; ++i)
    y[i] = static_cast<float>(gate[i] / (1.0 + std::exp(-static_cast<double>(gate[i]))) * up[i]);
}

void swiglu_backward(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                     std::int64_t f, const float* dy, float* dgate, float* dup) {
  for (std::int64_t i = 0; i < n * f; ++i) {
    const double g = gate[i], s = 1.0 / (1.0 + std::exp(-g)),
                 complement = 1.0 / (1.0 + std::exp(g));
    dgate[i] = static_cast<float>(static_cast<double>(dy[i]) * up[i] * s * (1.0 + g * complement));
    dup[i] = static_cast<float>(dy[i] * g * s);
  }
}

}  // namespace rollcall::kernels::reference
