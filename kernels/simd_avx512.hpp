// The 16-lane vector of simd.hpp as one AVX-512 register.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr int kUnroll = 16;  // loops over registers are unrolled up to 16 times

struct Vec {
  __m512 v;
};

static inline Vec splat(float x) { return {_mm512_set1_ps(x)}; }
static inline Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
static inline void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }

static inline __mmask16 first_mask(std::int64_t count) {
  return static_cast<__mmask16>((1U << count) - 1U);
}
static inline Vec keep_first(Vec a, std::int64_t count, Vec fill) {
  return {_mm512_mask_blend_ps(first_mask(count), fill.v, a.v)};
}
static inline Vec load_first(const float* p, std::int64_t count, Vec fill) {
  return {_mm512_mask_loadu_ps(fill.v, first_mask(count), p)};
}
static inline void store_first(float* p, std::int64_t count, Vec a) {
  _mm512_mask_storeu_ps(p, first_mask(count), a.v);
}

static inline Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
static inline Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
static inline Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
static inline Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
static inline Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
static inline Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
static inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}
/// Bit i of the result says whether lane i of a is less than that of b.
static inline unsigned less_mask(Vec a, Vec b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
/// Rounds each lane to the nearest bfloat16, with ties to even.
static inline Vec rounded_to_bf16(Vec a) {
  const __m512i bits = _mm512_castps_si512(a.v),
                odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __mmask16 nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i kept = _mm512_mask_or_epi32(up, nan, bits, _mm512_set1_epi32(0x400000));
  return {_mm512_castsi512_ps(
      _mm512_and_si512(kept, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))))};
}
/// Converts 16 pairs of bfloat16 to fp32: the lower ones, and the upper ones.
static inline void load_pairs(const std::uint16_t* p, Vec& lower, Vec& upper) {
  const __m512i pairs = _mm512_loadu_si512(p);
  lower.v = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
  upper.v = _mm512_castsi512_ps(
      _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
}
/// The inverse of load_pairs(), for numbers that are rounded to bfloat16 already.
static inline void store_pairs(std::uint16_t* p, Vec lower, Vec upper) {
  _mm512_storeu_si512(p, _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(lower.v), 16),
                                         _mm512_castps_si512(upper.v)));
}
/// Transposes 16 vectors: lane j of a[i] becomes lane i of a[j].
static inline void transpose(Vec (&a)[16]) {
  __m512 pairs[16], quads[16];
  for (int i = 0; i < 16; i += 2)
    pairs[i] = _mm512_unpacklo_ps(a[i].v, a[i + 1].v),
    pairs[i + 1] = _mm512_unpackhi_ps(a[i].v, a[i + 1].v);
  for (int i = 0; i < 16; i += 4)  // quads[i + l]: lane 4 q + l of a[i .. i+3] in quarter q
    for (int l = 0; l < 2; ++l) {
      quads[i + 2 * l] = _mm512_shuffle_ps(pairs[i + l], pairs[i + l + 2], 0x44);
      quads[i + 2 * l + 1] = _mm512_shuffle_ps(pairs[i + l], pairs[i + l + 2], 0xEE);
    }
  for (int l = 0; l < 4; ++l) {
    const __m512 low_even = _mm512_shuffle_f32x4(quads[l], quads[4 + l], 0x88),
                 low_odd = _mm512_shuffle_f32x4(quads[l], quads[4 + l], 0xDD);
    const __m512 high_even = _mm512_shuffle_f32x4(quads[8 + l], quads[12 + l], 0x88),
                 high_odd = _mm512_shuffle_f32x4(quads[8 + l], quads[12 + l], 0xDD);
    a[l].v = _mm512_shuffle_f32x4(low_even, high_even, 0x88),
    a[8 + l].v = _mm512_shuffle_f32x4(low_even, high_even, 0xDD);
    a[4 + l].v = _mm512_shuffle_f32x4(low_odd, high_odd, 0x88),
          a[12 + l].v = _mm512_shuffle_f32x4(low_odd, high_odd, 0xDD);
  }
}
/// Adds b to a in the lanes where x is not less than least.
static inline Vec add_from(Vec a, Vec b, Vec x, Vec least) {
  return {_mm512_mask_add_ps(a.v, _mm512_cmp_ps_mask(x.v, least.v, _CMP_NLT_UQ), a.v, b.v)};
}
static inline Vec exponent_from_low_bits(Vec a) {
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a.v), 23))};
}

/// The steps of the fixed tree: lanes 8..15 move to 0..7, then 4..7 to 0..3, and so on.
static inline Vec upper_half(Vec a) { return {_mm512_shuffle_f32x4(a.v, a.v, 0xEE)}; }
static inline Vec upper_quarter(Vec a) { return {_mm512_shuffle_f32x4(a.v, a.v, 0x01)}; }
static inline Vec upper_pair(Vec a) { return {_mm512_shuffle_ps(a.v, a.v, 0xEE)}; }
static inline Vec upper_one(Vec a) { return {_mm512_shuffle_ps(a.v, a.v, 0x01)}; }
static inline float first(Vec a) { return _mm512_cvtss_f32(a.v); }

/// One level of the tree on two vectors at once; the halves (or quarters, pairs, lanes) of a come
/// before those of b.
static inline __m512 fold_halves(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xEE));
}
static inline __m512 fold_quarters(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xDD));
}
static inline __m512 fold_pairs(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xEE));
}
static inline __m512 fold_lanes(__m512 a, __m512 b) {
  return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xDD));
}

/// The vector whose lane j is fold_sum(a[j]).
static inline Vec fold_sums(const Vec (&a)[16]) {
  __m512 quarter[4];
  for (int s = 0; s < 4; ++s)
    quarter[s] =
        fold_quarters(fold_halves(a[s].v, a[4 + s].v), fold_halves(a[8 + s].v, a[12 + s].v));
  return {fold_lanes(fold_pairs(quarter[0], quarter[1]), fold_pairs(quarter[2], quarter[3]))};
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
