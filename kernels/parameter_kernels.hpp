// Element-wise kernels over all parameters. Their loops are in the sets of kernel_set.hpp, and
// Kokkos distributes the pieces of AdamW.
#pragma once

#include <cstdint>
#include <span>

namespace rollcall::kernels {

/// Starts and ends Kokkos for the process. Construct it once in main. It does nothing when Kokkos
/// is already running.
class KokkosScope {
 public:
  KokkosScope();
  ~KokkosScope();
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;

 private:
  bool owner_;
};

// The functions below take any part of the parameters, from any thread.

/// Adds integers round(value * 2^exponent) to sum, which is exact in any order. Returns the largest
/// |value|, or infinity if a value is not finite. The sum is undefined if the largest |value| *
/// 2^exponent exceeds 2^52. That bound leaves room for 2^10 micro-batches below 2^62.
float accumulate_fixed_point(std::span<const float> values, int exponent,
                             std::span<std::int64_t> sum);
/// values[i] = sum[i] * 2^-exponent, correctly rounded to fp32.
void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> values);
/// The sum of squares, in double. The sums of blocks of kNormBlock elements (the last one may be
/// shorter), added in order, are the square of the norm. So the norm does not depend on threads,
/// nor on ranks that hold whole blocks.
double sum_of_squares(std::span<const float> values);
constexpr std::size_t kNormBlock = 4096;

/// One AdamW update with decoupled weight decay (Loshchilov and Hutter 2019, algorithm 2) and bias
/// correction by `step` >= 1. With g = gradient * gradient_scale:
///   m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;
///   w -= lr * (m_hat / (sqrt(v_hat) + eps) + weight_decay * w)
struct AdamWStep {
  double lr, beta1, beta2, eps, weight_decay, gradient_scale;
  std::int64_t step;
};
void adamw(std::span<float> weight, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWStep& settings);

}  // namespace rollcall::kernels
