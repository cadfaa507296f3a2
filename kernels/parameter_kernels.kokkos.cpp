// The passes over all parameters, with the widest kernel set. Kokkos distributes the pieces of
// AdamW.
#include "kernels/parameter_kernels.hpp"

#include "kernels/kernel_set.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>

namespace rollcall::kernels {

namespace {

/// Elements of a piece, whose four arrays fit the second-level cache of a core.
constexpr std::int64_t kPiece = std::int64_t(1) << 14;

}  // namespace

KokkosScope::KokkosScope() : owner_(!Kokkos::is_initialized()) {
  if (owner_) Kokkos::initialize();
}

KokkosScope::~KokkosScope() {
  if (owner_) Kokkos::finalize();
}

namespace {

/// The widest set of this processor. All sets give the same integers and roundings, so the
/// numerics of the run do not matter.
const KernelSet& widest() {
  static const KernelSet& set = []() -> const KernelSet& {
    for (const char* name : {"avx512", "avx2"})
      if (const KernelSet* found = kernels_by_name(name)) return *found;
    return scalar_kernels();
  }();
  return set;
}

}  // namespace

float accumulate_fixed_point(std::span<const float> values, int exponent,
                             std::span<std::int64_t> sum) {
  return widest().accumulate_fixed_point(values.data(), std::int64_t(values.size()),
                                         std::ldexp(1.0, exponent), sum.data());
}

void from_fixed_point(std::span<const std::int64_t> sum, int exponent, std::span<float> values) {
  widest().from_fixed_point(sum.data(), std::int64_t(values.size()), std::ldexp(1.0, -exponent),
                            values.data());
}

double sum_of_squares(std::span<const float> values) {
  return widest().sum_of_squares(values.data(), std::int64_t(values.size()));
}

void adamw(std::span<float> weight, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWStep& settings) {
  const KernelSet& set = widest();
  const double first_correction =
      1.0 - std::pow(settings.beta1, static_cast<double>(settings.step));
  const double second_correction =
      1.0 - std::pow(settings.beta2, static_cast<double>(settings.step));
  const auto count = static_cast<std::int64_t>(weight.size());
  const Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace> pieces(
      0, (count + kPiece - 1) / kPiece);
  Kokkos::parallel_for("adamw", pieces, [=, &set](std::int64_t piece) {
    const std::int64_t first = piece * kPiece;
    set.adamw(weight.data() + first, gradient.data() + first, m.data() + first, v.data() + first,
              std::min(kPiece, count - first), settings, first_correction, second_correction);
  });
  Kokkos::fence();
}

}  // namespace rollcall::kernels
