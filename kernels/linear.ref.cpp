// Reference of linear: y = x W^T + bias.
#include "kernels/packing.hpp"
#include "kernels/reference.hpp"

namespace rollcall::kernels::reference {

void linear(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k, const void* packed, std::int64_t o, const float* bias, int, float* y) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t c = 0; c < o; ++c) {
      const float* panel = static_cast<const float*>(packed) + c / kPanel * kPanel * k;
      double sum = 0.0;
      for (std::int64_t j = 0; j < k; ++j) sum += static_cast<double>(x[i * k + j]) * panel[j * kPanel + c % kPanel];
      y[i * o + c] = static_cast<float>(bias ? sum + bias[c] : sum);
    }
}

}  // namespace rollcall::kernels::reference
