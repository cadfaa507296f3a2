// The 16-lane vector of simd.hpp as an array, for any processor. If the processor has no FMA
// instruction, the C library computes it, slowly but exactly.
#pragma once

#include "kernels/bf16.hpp"

#include <cstdint>
#include <cstring>

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr int kUnroll = 1;  // the lanes are loops themselves, so unrolling would only cost
                                   // compile time

struct Vec {
  float lane[16];
};

/// The vector whose lane i is f(i).
template <class F>
static inline Vec each_lane(F f) {
  Vec r;
  for (int i = 0; i < 16; ++i) r.lane[i] = f(i);
  return r;
}

static inline Vec splat(float x) {
  return each_lane([&](int) { return x; });
}
static inline Vec load(const float* p) {
  return each_lane([&](int i) { return p[i]; });
}
static inline void store(float* p, Vec a) { std::memcpy(p, a.lane, sizeof a.lane); }

static inline Vec keep_first(Vec a, std::int64_t count, Vec fill) {
  return each_lane([&](int i) { return i < count ? a.lane[i] : fill.lane[i]; });
}
static inline Vec load_first(const float* p, std::int64_t count, Vec fill) {
  return each_lane([&](int i) { return i < count ? p[i] : fill.lane[i]; });
}
static inline void store_first(float* p, std::int64_t count, Vec a) {
  std::memcpy(p, a.lane, static_cast<std::size_t>(count) * sizeof(float));
}

static inline Vec operator+(Vec a, Vec b) {
  return each_lane([&](int i) { return a.lane[i] + b.lane[i]; });
}
static inline Vec operator-(Vec a, Vec b) {
  return each_lane([&](int i) { return a.lane[i] - b.lane[i]; });
}
static inline Vec operator*(Vec a, Vec b) {
  return each_lane([&](int i) { return a.lane[i] * b.lane[i]; });
}
static inline Vec operator/(Vec a, Vec b) {
  return each_lane([&](int i) { return a.lane[i] / b.lane[i]; });
}
static inline Vec fma(Vec a, Vec b, Vec c) {
  return each_lane([&](int i) { return __builtin_fmaf(a.lane[i], b.lane[i], c.lane[i]); });
}
/// The larger of both. If one is a NaN it is the second operand, as in the x86 instruction.
static inline Vec max(Vec a, Vec b) {
  return each_lane([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
}
static inline Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
  return each_lane([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
}
/// Rounds each lane to the nearest bfloat16, with ties to even.
static inline Vec rounded_to_bf16(Vec a) {
  return each_lane([&](int i) { return from_bf16(to_bf16(a.lane[i])); });
}
/// Converts 16 pairs of bfloat16 to fp32: the lower ones, and the upper ones.
static inline void load_pairs(const std::uint16_t* p, Vec& lower, Vec& upper) {
  lower = each_lane([&](int i) { return from_bf16(p[2 * i]); });
  upper = each_lane([&](int i) { return from_bf16(p[2 * i + 1]); });
}
/// The inverse of load_pairs(), for numbers that are rounded to bfloat16 already.
static inline void store_pairs(std::uint16_t* p, Vec lower, Vec upper) {
  for (int i = 0; i < 16; ++i)
    p[2 * i] = to_bf16(lower.lane[i]), p[2 * i + 1] = to_bf16(upper.lane[i]);
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
  unsigned mask = 0;
  for (unsigned i = 0; i < 16; ++i) mask |= (a.lane[i] < b.lane[i] ? 1U : 0U) << i;
  return mask;
}
static inline Vec exponent_from_low_bits(Vec a) {
  std::uint32_t bits[16];
  std::memcpy(bits, a.lane, sizeof bits);
  for (std::uint32_t& b : bits) b <<= 23;
  Vec r;
  std::memcpy(r.lane, bits, sizeof bits);
  return r;
}

/// The steps of the fixed tree: lanes 8..15 move to 0..7, then 4..7 to 0..3, and so on.
static inline Vec upper_half(Vec a) {
  return each_lane([&](int i) { return a.lane[8 + i % 8]; });
}
static inline Vec upper_quarter(Vec a) {
  return each_lane([&](int i) { return a.lane[4 + i % 4]; });
}
static inline Vec upper_pair(Vec a) {
  return each_lane([&](int i) { return a.lane[2 + i % 2]; });
}
static inline Vec upper_one(Vec a) { return splat(a.lane[1]); }
static inline float first(Vec a) { return a.lane[0]; }

/// The vector whose lane j is fold_sum(a[j]).
static inline Vec fold_sums(const Vec (&a)[16]) {
  return each_lane([&](int j) {
    Vec s = a[j] + upper_half(a[j]);
    s = s + upper_quarter(s);
    s = s + upper_pair(s);
    return first(s + upper_one(s));
  });
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
