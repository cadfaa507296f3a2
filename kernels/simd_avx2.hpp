// The 16-lane vector of simd.hpp as two AVX2 registers.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr int kUnroll = 16;  // loops over registers are unrolled up to 16 times

struct Vec {
  __m256 lo, hi;  // lanes 0..7 and 8..15
};

static inline Vec splat(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
static inline Vec load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
static inline void store(float* p, Vec a) {
  _mm256_storeu_ps(p, a.lo);
  _mm256_storeu_ps(p + 8, a.hi);
}

/// Has all bits set in the lanes below `count`. The first lane has number `first_lane`.
static inline __m256i first_mask(std::int64_t count, int first_lane) {
  const __m256i lane =
      _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(first_lane));
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
}
static inline __m256 blend(__m256 no, __m256 yes, __m256i mask) {
  return _mm256_blendv_ps(no, yes, _mm256_castsi256_ps(mask));
}
static inline Vec keep_first(Vec a, std::int64_t count, Vec fill) {
  return {blend(fill.lo, a.lo, first_mask(count, 0)), blend(fill.hi, a.hi, first_mask(count, 8))};
}
static inline Vec load_first(const float* p, std::int64_t count, Vec fill) {
  return keep_first({_mm256_maskload_ps(p, first_mask(count, 0)),
                     _mm256_maskload_ps(p + 8, first_mask(count, 8))},
                    count, fill);
}
static inline void store_first(float* p, std::int64_t count, Vec a) {
  _mm256_maskstore_ps(p, first_mask(count, 0), a.lo);
  _mm256_maskstore_ps(p + 8, first_mask(count, 8), a.hi);
}

static inline Vec operator+(Vec a, Vec b) {
  return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}
static inline Vec operator-(Vec a, Vec b) {
  return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}
static inline Vec operator*(Vec a, Vec b) {
  return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}
static inline Vec operator/(Vec a, Vec b) {
  return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}
static inline Vec fma(Vec a, Vec b, Vec c) {
  return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
static inline Vec max(Vec a, Vec b) {
  return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}
static inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
          _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}
/// Rounds each lane to the nearest bfloat16, with ties to even.
static inline __m256 rounded_half(__m256 a) {
  const __m256i bits = _mm256_castps_si256(a),
                odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))),
                quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 kept = _mm256_blendv_ps(_mm256_castsi256_ps(up), _mm256_castsi256_ps(quiet),
                                       _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  return _mm256_and_ps(kept, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xFFFF0000U))));
}
static inline Vec rounded_to_bf16(Vec a) { return {rounded_half(a.lo), rounded_half(a.hi)}; }
/// Converts 16 pairs of bfloat16 to fp32: the lower ones, and the upper ones.
static inline void load_pairs(const std::uint16_t* p, Vec& lower, Vec& upper) {
  const __m256i high_half = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
                second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16));
  lower = {_mm256_castsi256_ps(_mm256_slli_epi32(first, 16)),
           _mm256_castsi256_ps(_mm256_slli_epi32(second, 16))};
  upper = {_mm256_castsi256_ps(_mm256_and_si256(first, high_half)),
           _mm256_castsi256_ps(_mm256_and_si256(second, high_half))};
}
/// The inverse of load_pairs(), for numbers that are rounded to bfloat16 already.
static inline void store_pairs(std::uint16_t* p, Vec lower, Vec upper) {
  const auto joined = [](__m256 low, __m256 high) {
    return _mm256_or_si256(_mm256_srli_epi32(_mm256_castps_si256(low), 16),
                           _mm256_castps_si256(high));
  };
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), joined(lower.lo, upper.lo));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 16), joined(lower.hi, upper.hi));
}
/// Transposes 16 vectors: lane j of a[i] becomes lane i of a[j].
static inline void transpose(Vec (&a)[16]) {
  float rows[16][16];
  for (int i = 0; i < 16; ++i) store(rows[i], a[i]);
  for (int j = 0; j < 16; ++j) {
    float column[16];
    for (int i = 0; i < 16; ++i) column[i] = rows[i][j];
    a[j] = load(column);
  }
}
/// Adds b to a in the lanes where x is not less than least.
static inline Vec add_from(Vec a, Vec b, Vec x, Vec least) {
  return select_less(x, least, a, a + b);
}
/// Bit i of the result says whether lane i of a is less than that of b.
static inline unsigned less_mask(Vec a, Vec b) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)) |
                               _mm256_movemask_ps(_mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ)) << 8);
}
static inline __m256 shift_to_exponent(__m256 a) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a), 23));
}
static inline Vec exponent_from_low_bits(Vec a) {
  return {shift_to_exponent(a.lo), shift_to_exponent(a.hi)};
}

/// The steps of the fixed tree: lanes 8..15 move to 0..7, then 4..7 to 0..3, and so on. Only lanes
/// that the tree still needs are defined.
static inline Vec upper_half(Vec a) { return {a.hi, a.hi}; }
static inline Vec upper_quarter(Vec a) { return {_mm256_permute2f128_ps(a.lo, a.lo, 0x01), a.hi}; }
static inline Vec upper_pair(Vec a) { return {_mm256_shuffle_ps(a.lo, a.lo, 0xEE), a.hi}; }
static inline Vec upper_one(Vec a) { return {_mm256_shuffle_ps(a.lo, a.lo, 0x01), a.hi}; }
static inline float first(Vec a) { return _mm256_cvtss_f32(a.lo); }

/// One level of the tree on two vectors at once; the quarters (or pairs, lanes) of a come before
/// those of b.
static inline __m256 fold_half(Vec a) { return _mm256_add_ps(a.lo, a.hi); }
static inline __m256 fold_quarters(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
static inline __m256 fold_pairs(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xEE));
}
static inline __m256 fold_lanes(__m256 a, __m256 b) {
  return _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x88), _mm256_shuffle_ps(a, b, 0xDD));
}

/// The vector whose lane j is fold_sum(a[j]).
static inline Vec fold_sums(const Vec (&a)[16]) {
  __m256 lo[4], hi[4];
  for (int s = 0; s < 4; ++s) {
    lo[s] = fold_quarters(fold_half(a[s]), fold_half(a[4 + s]));
    hi[s] = fold_quarters(fold_half(a[8 + s]), fold_half(a[12 + s]));
  }
  return {fold_lanes(fold_pairs(lo[0], lo[1]), fold_pairs(lo[2], lo[3])),
          fold_lanes(fold_pairs(hi[0], hi[1]), fold_pairs(hi[2], hi[3]))};
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
