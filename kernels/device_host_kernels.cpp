// The host's part of cuda_bf16_sliced8. It writes matrices row by row in bf16, as the device reads
// them.
#include "kernels/cuda/device_kernels.hpp"

#include <cstring>

namespace rollcall::kernels {
namespace {

std::int64_t row_bytes(std::int64_t k) { return cuda::stepped(k) * std::int64_t(sizeof(Bf16)); }
std::int64_t packed_bytes_rows(std::int64_t o, std::int64_t k) { return o * row_bytes(k); }

/// Writes the rows of W[o,k], each padded with zeros. Element j of row i is value(i k + j).
template <class Value>
void pack(std::int64_t o, std::int64_t k, void* packed, const Value& value) {
  auto* to = static_cast<Bf16*>(packed);
  for (std::int64_t i = 0; i < o; ++i, to += cuda::stepped(k)) {
    for (std::int64_t j = 0; j < k; ++j) to[j] = value(i * k + j);
    for (std::int64_t j = k; j < cuda::stepped(k); ++j) to[j] = 0;
  }
}

void pack_rows(const float* w, std::int64_t o, std::int64_t k, void* packed) {
  pack(o, k, packed, [&](std::int64_t i) { return to_bf16(w[i]); });
}
void pack_halves(const std::uint16_t* w, std::int64_t o, std::int64_t k, void* packed) {
  pack(o, k, packed, [&](std::int64_t i) { return w[i]; });
}

}  // namespace

const KernelSet& device_host_kernels() {
  static const KernelSet table = [] {
    const KernelSet& host = scalar_kernels();
    KernelSet set{};
    set.name = "cuda", set.numerics = kCudaBf16Sliced8;
    set.packed_bytes = packed_bytes_rows, set.pack = pack_rows, set.pack_halves = pack_halves;
    set.page_bytes = cuda::page_bytes;
    set.accumulate_fixed_point = host.accumulate_fixed_point,
    set.from_fixed_point = host.from_fixed_point, set.sum_of_squares = host.sum_of_squares;
    return set;
  }();
  return table;
}

}  // namespace rollcall::kernels
