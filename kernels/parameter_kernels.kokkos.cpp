// Element-wise kernels over all parameters in Kokkos, called by the main thread; accumulate_fixed_point is a plain loop, as worker threads call it.
#include "kernels/parameter_kernels.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::kernels {

namespace {

using Device = Kokkos::DefaultExecutionSpace;
static_assert(Kokkos::SpaceAccessibility<Device, Kokkos::HostSpace>::accessible,
              "Kokkos' default execution space cannot reach host memory (parameters live there); build with a Kokkos whose default is a host space");

template <class T>
using HostView = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

template <class T>
HostView<T> view(std::span<T> values) {
  return HostView<T>(values.data(), values.size());
}

Kokkos::RangePolicy<Device> range(std::size_t size) { return Kokkos::RangePolicy<Device>(0, size); }

constexpr double kTwoTo52 = 4503599627370496.0;  // from here on every double is an integer

/// To the nearest integer, ties to even, for |x| <= 2^52: adding 2^52 leaves no bits for a fraction.
double round_to_integer(double x) { return std::copysign((std::fabs(x) + kTwoTo52) - kTwoTo52, x); }

/// As a double whose later rounding to float is the rounding of the integer itself: beyond 53 bits the lost bits stay as a sticky last bit
/// (round to odd; Boldo and Melquiond 2008).
KOKKOS_INLINE_FUNCTION double to_double_for_float(std::int64_t value) {
  constexpr std::int64_t exact = std::int64_t{1} << 53, lost = 2047;
  if (value > -exact && value < exact) return static_cast<double>(value);
  return static_cast<double>((value >> 11) | ((value & lost) != 0)) * 2048.0;
}

/// Sum of squares of values[0, count) in eight interleaved sums, folded in a fixed order.
KOKKOS_INLINE_FUNCTION double block_sum_of_squares(const float* values, std::size_t count) {
  double sum[8] = {};
  for (std::size_t i = 0; i < count; i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double value = i + lane < count ? values[i + lane] : 0.0F;
      sum[lane] += value * value;
    }
  return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

}  // namespace

KokkosScope::KokkosScope() : owner_(!Kokkos::is_initialized()) {
  if (owner_) Kokkos::initialize();
}

KokkosScope::~KokkosScope() {
  if (owner_) Kokkos::finalize();
}

bool accumulate_fixed_point(std::span<const float> gradient, int exponent, std::span<std::int64_t> sum) {
  const double scale = std::ldexp(1.0, exponent);
  bool fits = true;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double scaled = gradient[i] * scale;
    const bool inside = std::fabs(scaled) <= kTwoTo52;  // false for a NaN
    fits = fits && inside;
    sum[i] += inside ? static_cast<std::int64_t>(round_to_integer(scaled)) : 0;
  }
  return fits;
}

void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> gradient) {
  const double scale = std::ldexp(1.0, -exponent);
  const auto from = view(sum);
  const auto to = view(gradient);
  Kokkos::parallel_for(
      "from_fixed_point", range(sum.size()), KOKKOS_LAMBDA(std::size_t i) { to(i) = static_cast<float>(to_double_for_float(from(i)) * scale); });
  Kokkos::fence();
}

std::int64_t max_magnitude(std::span<const std::int64_t> sum) {
  const auto values = view(sum);
  std::int64_t largest = 0;
  Kokkos::parallel_reduce(
      "max_magnitude", range(sum.size()),
      KOKKOS_LAMBDA(std::size_t i, std::int64_t & most) {
        const std::int64_t magnitude = values(i) < 0 ? -values(i) : values(i);
        if (magnitude > most) most = magnitude;
      },
      Kokkos::Max<std::int64_t>(largest));
  return std::max<std::int64_t>(largest, 0);  // the reduction of nothing is the least integer
}

void block_sums_of_squares(std::span<const float> values, std::span<double> sums) {
  const auto from = view(values);
  const auto to = view(sums);
  const std::size_t size = values.size();
  Kokkos::parallel_for(
      "sum_of_squares", range(sums.size()), KOKKOS_LAMBDA(std::size_t b) {
        const std::size_t rest = size - b * kNormBlock;
        to(b) = block_sum_of_squares(from.data() + b * kNormBlock, rest < kNormBlock ? rest : kNormBlock);
      });
  Kokkos::fence();
}

void adamw(std::span<float> weight, std::span<const float> gradient, std::span<float> m, std::span<float> v, const AdamWStep& settings) {
  const auto weights = view(weight), first = view(m), second = view(v);
  const auto gradients = view(gradient);
  const AdamWStep s = settings;
  const double first_correction = 1.0 - std::pow(s.beta1, static_cast<double>(s.step));
  const double second_correction = 1.0 - std::pow(s.beta2, static_cast<double>(s.step));
  Kokkos::parallel_for(
      "adamw", range(weight.size()), KOKKOS_LAMBDA(std::size_t i) {
        const double g = gradients(i) * s.gradient_scale, w = weights(i);
        const double mean = s.beta1 * first(i) + (1.0 - s.beta1) * g;
        const double square = s.beta2 * second(i) + (1.0 - s.beta2) * g * g;
        const double step = mean / first_correction / (sqrt(square / second_correction) + s.eps);
        first(i) = static_cast<float>(mean);
        second(i) = static_cast<float>(square);
        weights(i) = static_cast<float>(w - s.lr * (step + s.weight_decay * w));
      });
  Kokkos::fence();
}

}  // namespace rollcall::kernels
