// bfloat16, the upper half of a float. Rounding is to the nearest with ties to even, and a NaN
// stays a NaN. The functions are static because sources for several instruction sets include this
// file, and the linker must not choose the copy of one set for all processors.
#pragma once

#include <cstdint>
#include <cstring>

namespace rollcall::kernels {

using Bf16 = std::uint16_t;

static inline Bf16 to_bf16(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<Bf16>(bits >> 16 | 0x40U);
  return static_cast<Bf16>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

static inline float from_bf16(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace rollcall::kernels
