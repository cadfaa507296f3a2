// Packs W[o,k] for linear.
#include "kernels/packing.hpp"

#include "kernels/bf16.hpp"

namespace rollcall::kernels {
namespace {

std::int64_t padded(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

std::int64_t packed_bytes_fp32(std::int64_t o, std::int64_t k) { return padded(o, kPanel) * k * std::int64_t(sizeof(float)); }

void pack_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  for (std::int64_t first = 0; first < o; first += kPanel) {
    float* panel = static_cast<float*>(packed) + first * k;
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t lane = 0; lane < kPanel; ++lane) panel[j * kPanel + lane] = first + lane < o ? w[(first + lane) * k + j] : 0.0F;
  }
}

std::int64_t packed_bytes_bf16(std::int64_t o, std::int64_t k) { return padded(o, kPanel) * padded(k, kBf16Block) * std::int64_t(sizeof(Bf16)); }

void pack_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  const std::int64_t inputs = padded(k, kBf16Block);
  for (std::int64_t first = 0; first < o; first += kPanel) {
    Bf16* panel = static_cast<Bf16*>(packed) + first * inputs;
    for (std::int64_t lane = 0; lane < kPanel; ++lane)
      for (std::int64_t j = 0; j < inputs; ++j)
        panel[(j / 2 * kPanel + lane) * 2 + j % 2] = first + lane < o && j < k ? to_bf16(w[(first + lane) * k + j]) : Bf16(0);
  }
}

}  // namespace rollcall::kernels
