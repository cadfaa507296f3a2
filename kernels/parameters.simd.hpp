// Fixed-point sums and AdamW over all parameters, as plain loops that the compiler vectorises.
// Every operation is exact or rounded once, so the bits are the same everywhere.
#pragma once

#include "kernels/parameter_kernels.hpp"
#include "kernels/simd.hpp"

namespace rollcall::kernels::ROLLCALL_ISA {

inline constexpr double kTwoTo52 = 4503599627370496.0;  // from here on every double is an integer

static float accumulate_fixed_point(const float* values, std::int64_t count, double scale,
                                    std::int64_t* sum) {
  constexpr std::int64_t kPiece = 1024;  // stays in the first-level cache
  std::uint32_t largest = 0;             // bits of |value|, which sort like the values
  for (std::int64_t first = 0; first < count; first += kPiece) {
    const std::int64_t last = count - first < kPiece ? count : first + kPiece;
    for (std::int64_t i = first; i < last; ++i) {
      std::uint32_t bits;
      __builtin_memcpy(&bits, values + i, sizeof bits);
      bits &= 0x7FFFFFFFU;
      largest = bits > largest ? bits : largest;
    }
    for (std::int64_t i = first; i < last; ++i) {
      const double scaled = values[i] * scale;
      // This rounds to the nearest integer with ties to even, because after adding 2^52 no bits are
      // left for a fraction. A larger number or a NaN adds nothing.
      const double rounded =
          __builtin_copysign((__builtin_fabs(scaled) + kTwoTo52) - kTwoTo52, scaled);
      sum[i] += static_cast<std::int64_t>(__builtin_fabs(scaled) <= kTwoTo52 ? rounded : 0.0);
    }
  }
  if (largest >= 0x7F800000U) largest = 0x7F800000U;
  float value;
  __builtin_memcpy(&value, &largest, sizeof value);
  return value;
}

/// Converts sums to floats with one rounding. The intermediate double keeps bits that do not fit as
/// a sticky last bit (round to odd; Boldo and Melquiond 2008), so that its rounding to float is
/// that of the integer.
static void from_fixed_point(const std::int64_t* sum, std::int64_t count, double scale,
                             float* values) {
  constexpr std::int64_t exact = std::int64_t{1} << 53, lost = 2047;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t value = sum[i], odd = (value >> 11) | ((value & lost) != 0 ? 1 : 0);
    const bool fits = value > -exact && value < exact;
    values[i] = static_cast<float>(static_cast<double>(fits ? value : odd) *
                                   (fits ? scale : scale * 2048.0));
  }
}

/// Computes eight interleaved sums and folds them in a fixed order.
static double sum_of_squares(const float* values, std::int64_t count) {
  double sum[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int lane = 0; lane < 8; ++lane)
      sum[lane] += static_cast<double>(values[i + lane]) * static_cast<double>(values[i + lane]);
  for (int lane = 0; i + lane < count; ++lane)
    sum[lane] += static_cast<double>(values[i + lane]) * static_cast<double>(values[i + lane]);
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static void adamw(float* weight, const float* gradient, float* m, float* v, std::int64_t count,
                  const AdamWStep& s, double first_correction, double second_correction) {
  const double beta1 = s.beta1, beta2 = s.beta2, eps = s.eps, scale = s.gradient_scale,
               decay = s.weight_decay, lr = s.lr;
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = gradient[i] * scale, w = weight[i];
    const double mean = beta1 * m[i] + (1.0 - beta1) * g;
    const double square = beta2 * v[i] + (1.0 - beta2) * g * g;
    const double step =
        mean / first_correction / (__builtin_sqrt(square / second_correction) + eps);
    m[i] = static_cast<float>(mean);
    v[i] = static_cast<float>(square);
    weight[i] = static_cast<float>(w - lr * (step + decay * w));
  }
}

}  // namespace rollcall::kernels::ROLLCALL_ISA
