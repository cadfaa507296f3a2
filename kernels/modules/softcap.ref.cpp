// Reference for softcap and its backward pass.
#include "kernels/modules/reference.hpp"

#include <cmath>

namespace rollcall::kernels::reference {

void softcap(ExecutionContext&, float* x, std::int64_t n, float cap) {
  for (std::int64_t i = 0; i < n; ++i)
    x[i] = static_cast<float>(cap * std::tanh(static_cast<double>(x[i]) / cap));
}

void softcap_backward(ExecutionContext&, const float* z, float* dz, std::int64_t n, float cap) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double t = static_cast<double>(z[i]) / cap;
    dz[i] = static_cast<float>(dz[i] * (1.0 - t * t));
  }
}

}  // namespace rollcall::kernels::reference
