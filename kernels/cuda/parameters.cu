// The passes over all parameters: gradient sums in fixed point, norms in fixed blocks, and AdamW
// that also writes rounded weights. They have the bits of parameter_kernels.hpp.
#include "kernels/cuda/device.cuh"

#include <cmath>

namespace rollcall::kernels::cuda {
namespace {

/// Values per thread. There are several, because updating the single place for the largest value
/// takes time.
constexpr int kEach = 16;

__global__ void accumulate_some(const float* values, std::int64_t count, double scale,
                                std::int64_t* sum, unsigned* largest) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kEach * kBlock + threadIdx.x;
  unsigned size = 0;
#pragma unroll 4
  for (int j = 0; j < kEach; ++j)
    if (const std::int64_t i = begin + j * kBlock; i < count) {
      sum[i] += nearest_integer(values[i] * scale);
      size = size_of(values[i]) > size ? size_of(values[i]) : size;
    }
  note_largest(size, largest);
}

/// Rounds once. Bits that do not fit in a double are kept as a sticky last bit (round to odd; Boldo
/// and Melquiond 2008).
__global__ void from_fixed_point_each(std::int64_t count, const std::int64_t* sum, double scale,
                                      float* values) {
  const std::int64_t i = element();
  if (i >= count) return;
  constexpr std::int64_t kExact = std::int64_t{1} << 53, kLost = 2047;
  const std::int64_t value = sum[i], odd = (value >> 11) | ((value & kLost) != 0 ? 1 : 0);
  const bool fits = value > -kExact && value < kExact;
  values[i] =
      static_cast<float>(static_cast<double>(fits ? value : odd) * (fits ? scale : scale * 2048.0));
}

/// A hash of place and bits. Each input bit changes about half of the result's bits (the finalizer
/// of SplitMix64; Steele, Lea and Flood 2014).
__device__ unsigned long long place_and_bits(std::int64_t place, float value) {
  unsigned long long mixed =
      static_cast<unsigned long long>(place) * 0x9E3779B97F4A7C15ULL + __float_as_uint(value);
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ULL;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBULL;
  return mixed ^ mixed >> 31;
}

__global__ void add_checksum_each(std::int64_t count, const float* values, std::int64_t first,
                                  std::int64_t* sum) {
  const std::int64_t i = element();
  unsigned long long mixed = i < count ? place_and_bits(first + i, values[i]) : 0;
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    mixed += __shfl_xor_sync(0xFFFFFFFFU, mixed, distance);
  if (threadIdx.x % kWarp == 0) add_atomically(sum, static_cast<std::int64_t>(mixed));
}

/// Each thread computes one of the eight interleaved sums of a block of kNormBlock values.
__global__ void squares_block(const float* values, std::int64_t count, double* squares) {
  const std::int64_t begin = blockIdx.x * static_cast<std::int64_t>(kNormBlock);
  const std::int64_t end = begin + static_cast<std::int64_t>(kNormBlock) < count
                               ? begin + static_cast<std::int64_t>(kNormBlock)
                               : count;
  double sum = 0.0;
  if (threadIdx.x < 8)
    for (std::int64_t i = begin + threadIdx.x; i < end; i += 8)
      sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 4);
  sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 2);
  sum += __shfl_xor_sync(0xFFFFFFFFU, sum, 1);
  if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

struct Moments {
  float *weight, *m, *v;
  const float* gradient;
  double first_correction, second_correction;
};

__device__ float stepped_weight(const Moments& a, const AdamWStep& s, std::int64_t i) {
  const double g = a.gradient[i] * s.gradient_scale, w = a.weight[i];
  const double mean = s.beta1 * a.m[i] + (1.0 - s.beta1) * g;
  const double square = s.beta2 * a.v[i] + (1.0 - s.beta2) * g * g;
  const double step = mean / a.first_correction / (sqrt(square / a.second_correction) + s.eps);
  a.m[i] = static_cast<float>(mean);
  a.v[i] = static_cast<float>(square);
  return a.weight[i] = static_cast<float>(w - s.lr * (step + s.weight_decay * w));
}

/// Each thread updates two neighbouring weights, which are one word of the rounded weights.
__global__ void adamw_each(std::int64_t count, Moments a, AdamWStep step, std::int64_t columns,
                           std::int64_t stride, unsigned* published) {
  const std::int64_t at = element();
  if (at >= count) return;
  const std::int64_t row = at / (stride / 2), j = at % (stride / 2) * 2;
  const float low = j < columns ? stepped_weight(a, step, row * columns + j) : 0.0F,
              high = j + 1 < columns ? stepped_weight(a, step, row * columns + j + 1) : 0.0F;
  if (published != nullptr) published[at] = packed_bf16(low, high);
}

}  // namespace

void accumulate_fixed_point(ExecutionContext& context, const float* values, std::int64_t count,
                            int exponent, std::int64_t* sum, float* largest) {
  const std::int64_t blocks = (count + kEach * kBlock - 1) / (kEach * kBlock);
  launch_rows(context, "accumulate_fixed_point", accumulate_some, blocks, kBlock, values, count,
              std::ldexp(1.0, exponent), sum, reinterpret_cast<unsigned*>(largest));
}

void from_fixed_point(ExecutionContext& context, const std::int64_t* sum, std::int64_t count,
                      int exponent, float* values) {
  launch_each(context, "from_fixed_point", from_fixed_point_each, count, sum,
              std::ldexp(1.0, -exponent), values);
}

void add_checksum(ExecutionContext& context, const float* values, std::int64_t first,
                  std::int64_t count, std::int64_t* sum) {
  launch_each(context, "add_checksum", add_checksum_each, count, values, first, sum);
}

void sums_of_squares(ExecutionContext& context, const float* values, std::int64_t count,
                     double* squares) {
  const auto block = static_cast<std::int64_t>(kNormBlock);
  launch_rows(context, "sums_of_squares", squares_block, (count + block - 1) / block, kWarp, values,
              count, squares);
}

void adamw(ExecutionContext& context, float* weight, std::int64_t rows, std::int64_t columns,
           const float* gradient, float* m, float* v, const AdamWStep& step, Bf16* published) {
  const Moments a{weight,
                  m,
                  v,
                  gradient,
                  1.0 - std::pow(step.beta1, static_cast<double>(step.step)),
                  1.0 - std::pow(step.beta2, static_cast<double>(step.step))};
  launch_each(context, "adamw", adamw_each, rows * stepped(columns) / 2, a, step, columns,
              stepped(columns), reinterpret_cast<unsigned*>(published));
}

}  // namespace rollcall::kernels::cuda
