// A vector of sixteen fp32 lanes, with the same bits on every instruction set. All *.simd.hpp
// kernels are written with this one type.
//
// A file that includes this one defines ROLLCALL_ISA first (for example avx2 or avx2_modules) and
// is compiled with the flags of that set. Everything is in the namespace of that name, and no
// standard template is used. Otherwise the linker could keep an inline function that was compiled
// for AVX-512 as the only copy for all processors. The bits are the same because + - * / are IEEE
// operations, FMA is always explicit (-ffp-contract=off), and sums across lanes follow one tree:
// lane i + lane i+8, then i+4, i+2 and i+1.
#pragma once

#if defined(__AVX512F__)
#include "kernels/simd_avx512.hpp"
#elif defined(__AVX2__)
#include "kernels/simd_avx2.hpp"
#else
#include "kernels/simd_scalar.hpp"
#endif

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr std::int64_t kLanes = 16;

static inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

static inline float fold_sum(Vec a) {
  a = a + upper_half(a);
  a = a + upper_quarter(a);
  a = a + upper_pair(a);
  return first(a + upper_one(a));
}

static inline float fold_max(Vec a) {
  a = max(a, upper_half(a));
  a = max(a, upper_quarter(a));
  a = max(a, upper_pair(a));
  return first(max(a, upper_one(a)));
}

/// Loads up to 16 floats. Lanes from `count` on become `fill`.
static inline Vec load_up_to(const float* p, std::int64_t count, float fill = 0.0F) {
  return count >= kLanes ? load(p) : load_first(p, count, splat(fill));
}
static inline void store_up_to(float* p, std::int64_t count, Vec a) {
  count >= kLanes ? store(p, a) : store_first(p, count, a);
}

/// exp(x) for x <= 0, with a relative error below 2e-7. Below -87, where the normal floats end, it
/// is 0. A NaN stays a NaN. The method is x = j ln2 + r with |r| <= ln2/2 (ln2 in two parts, Cody
/// and Waite 1980), then the Taylor series of exp(r) to r^7 (the next term is < 6e-9) times 2^j.
static inline Vec exp_nonpositive(Vec x) {
  // Adding 1.5 * 2^23 rounds to an integer. The extra 127 makes its low bits the biased exponent of
  // 2^j.
  const Vec shift = splat(12582912.0F + 127.0F);
  const Vec shifted = fma(x, splat(1.44269504F), shift);
  const Vec j = shifted - shift;
  Vec r = fma(j, splat(-0.693359375F), x);
  r = fma(j, splat(2.12194440e-4F), r);
  Vec p = splat(1.0F / 5040.0F);
  p = fma(p, r, splat(1.0F / 720.0F));
  p = fma(p, r, splat(1.0F / 120.0F));
  p = fma(p, r, splat(1.0F / 24.0F));
  p = fma(p, r, splat(1.0F / 6.0F));
  p = fma(p, r, splat(0.5F));
  p = fma(p, r, splat(1.0F));
  p = fma(p, r, splat(1.0F));
  return select_less(x, splat(-87.0F), splat(0.0F), p * exponent_from_low_bits(shifted));
}

/// ln(x) for normal x > 0. The method is x = m 2^e with m in [sqrt(1/2), sqrt(2)), and ln m = 2
/// atanh(f) with f = (m-1)/(m+1) as a series to f^11. A NaN stays a NaN.
static inline float log_positive(float x) {
  if (!(x < 3.4e38F)) return x;
  std::uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof bits);
  // 0x3F3504F3 is sqrt(1/2)
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3F3504F3U) >> 23;
  bits -= static_cast<std::uint32_t>(e) << 23;
  float m;
  __builtin_memcpy(&m, &bits, sizeof m);
  const float f = (m - 1.0F) / (m + 1.0F);
  const float g = f * f;
  float p = 1.0F / 11.0F;
  p = fma(p, g, 1.0F / 9.0F);
  p = fma(p, g, 1.0F / 7.0F);
  p = fma(p, g, 1.0F / 5.0F);
  p = fma(p, g, 1.0F / 3.0F);
  const float exponent = static_cast<float>(e);
  const float small = fma(exponent, -2.12194440e-4F, 2.0F * f * g * p);
  return fma(exponent, 0.693359375F, fma(2.0F, f, small));
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
