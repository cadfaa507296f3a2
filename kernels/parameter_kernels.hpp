// Element-wise kernels over all parameters, in Kokkos so that one source serves host and device builds. Kokkos Serial is called from one thread.
#pragma once

#include <cstdint>
#include <span>

namespace rollcall::kernels {

/// Starts and ends Kokkos for the process; construct once in main (idempotent when Kokkos already runs).
class KokkosScope {
 public:
  KokkosScope();
  ~KokkosScope();
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;

 private:
  bool owner_;
};

/// Order-free sums: values become integers round(value * 2^exponent), whose addition is exact in any order.
/// accumulate adds gradient[i] to sum[i]; returns false (sum then undefined) when a value is not finite or |value| * 2^exponent exceeds 2^52,
/// which leaves room for 2^10 leaves below 2^62.
bool accumulate_fixed_point(std::span<const float> gradient, int exponent, std::span<std::int64_t> sum);
/// gradient[i] = sum[i] * 2^-exponent, correctly rounded to fp32.
void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> gradient);
/// Largest |sum[i]|; 0 for an empty span.
std::int64_t max_magnitude(std::span<const std::int64_t> sum);
/// Sums of squares in double of blocks of kNormBlock elements, the last one shorter: sums [ceil(values / kNormBlock)]. Added in order they are the
/// square of the norm, independent of threads and of ranks that hold whole blocks.
constexpr std::size_t kNormBlock = 4096;
void block_sums_of_squares(std::span<const float> values, std::span<double> sums);

/// One AdamW update with decoupled decay (Loshchilov and Hutter 2019, algorithm 2), bias correction by `step` >= 1:
/// m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2; w -= lr * (m_hat / (sqrt(v_hat) + eps) + weight_decay * w), with g = gradient * scale.
struct AdamWStep {
  double lr, beta1, beta2, eps, weight_decay, gradient_scale;
  std::int64_t step;
};
void adamw(std::span<float> weight, std::span<const float> gradient, std::span<float> m, std::span<float> v, const AdamWStep& settings);

}  // namespace rollcall::kernels
