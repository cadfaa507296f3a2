// Layout of a packed weight matrix: panels of kPanel outputs, k-major inside, so that a step along k reads one contiguous vector of outputs.
#pragma once

#include <cstdint>

namespace rollcall::kernels {

/// Outputs in a panel: the 16 lanes of a vector.
inline constexpr std::int64_t kPanel = 16;
/// Inputs of a block of bf16_sliced8.
inline constexpr std::int64_t kBf16Block = 32;

// fp32: packed[panel][k][lane] = W[panel * kPanel + lane][k], zero beyond o.
std::int64_t packed_bytes_fp32(std::int64_t o, std::int64_t k);
void pack_fp32(const float* w, std::int64_t o, std::int64_t k, void* packed);
// bf16: packed[panel][pair][lane][2], where a pair is two consecutive inputs, zero beyond o and k, k filled up to whole blocks.
std::int64_t packed_bytes_bf16(std::int64_t o, std::int64_t k);
void pack_bf16(const float* w, std::int64_t o, std::int64_t k, void* packed);

}  // namespace rollcall::kernels
