// Packs W[o,k] for linear: packed[panel][k][lane] = W[panel * kPanel + lane][k], zero beyond o.
#include "kernels/packing.hpp"

#include "kernels/kernel_set.hpp"

namespace rollcall::kernels {

std::int64_t packed_size(std::int64_t o, std::int64_t k) { return (o + kPanel - 1) / kPanel * kPanel * k; }

void pack_linear(const float* w, std::int64_t o, std::int64_t k, float* packed) {
  for (std::int64_t first = 0; first < o; first += kPanel) {
    float* panel = packed + first * k;
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t lane = 0; lane < kPanel; ++lane) panel[j * kPanel + lane] = first + lane < o ? w[(first + lane) * k + j] : 0.0F;
  }
}

}  // namespace rollcall::kernels
