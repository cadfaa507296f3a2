// AdamW in Kokkos, a part of the parameters a call; the fixed-point sums of the set at hand.
#include "kernels/parameter_kernels.hpp"

#include "kernels/kernel_set.hpp"

#include <Kokkos_Core.hpp>

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

}  // namespace

KokkosScope::KokkosScope() : owner_(!Kokkos::is_initialized()) {
  if (owner_) Kokkos::initialize();
}

KokkosScope::~KokkosScope() {
  if (owner_) Kokkos::finalize();
}

namespace {

/// Every set gives the same integers and roundings, whatever numerics a run has: the widest will do.
const KernelSet& widest() {
  static const KernelSet& set = []() -> const KernelSet& {
    for (const char* name : {"avx512", "avx2"})
      if (const KernelSet* found = kernels_by_name(name)) return *found;
    return scalar_kernels();
  }();
  return set;
}

}  // namespace

float accumulate_fixed_point(std::span<const float> values, int exponent, std::span<std::int64_t> sum) {
  return widest().accumulate_fixed_point(values.data(), std::int64_t(values.size()), std::ldexp(1.0, exponent), sum.data());
}

void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> values) {
  widest().from_fixed_point(sum.data(), std::int64_t(values.size()), std::ldexp(1.0, -exponent), values.data());
}

double sum_of_squares(std::span<const float> values) { return widest().sum_of_squares(values.data(), std::int64_t(values.size())); }

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
