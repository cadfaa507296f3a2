// Element-wise kernels over all parameters: loops in the sets of kernel_set.hpp, AdamW's pieces
// handed out by Kokkos.
#pragma once

#include <cstdint>
#include <span>

namespace rollcall::kernels {

/// Starts and ends Kokkos for the process; construct once in main (idempotent when Kokkos already
/// runs).
class KokkosScope {
 public:
  KokkosScope();
  ~KokkosScope();
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;

 private:
  bool owner_;
};

// Any part of the parameters at a time, from any thread.

/// Order-free sums: values become integers round(value * 2^exponent), whose addition is exact in
/// any order. Adds them to sum and returns the largest |value|, infinity when one is not finite.
/// Where that times 2^exponent exceeds 2^52, which leaves room for 2^10 leaves below 2^62, the sum
/// is undefined.
float accumulate_fixed_point(std::span<const float> values, int exponent,
                             std::span<std::int64_t> sum);
/// values[i] = sum[i] * 2^-exponent, correctly rounded to fp32.
void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> values);
/// In double. The squares of blocks of kNormBlock elements, the last one shorter, added in order
/// are the square of the norm, independent of threads and of ranks that hold whole blocks.
double sum_of_squares(std::span<const float> values);
constexpr std::size_t kNormBlock = 4096;

/// One AdamW update with decoupled decay (Loshchilov and Hutter 2019, algorithm 2), bias correction
/// by `step` >= 1:
/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr * (m_hat / (sqrt(v_hat) + eps) +
/// weight_decay * w), with g = gradient * scale.
struct AdamWStep {
  double lr, beta1, beta2, eps, weight_decay, gradient_scale;
  std::int64_t step;
};
void adamw(std::span<float> weight, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWStep& settings);

}  // namespace rollcall::kernels
