// Comparison and merging of weights, element by element.
#include "model/tensors/weight_changes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>

namespace rollcall::model {
namespace {

template <class F>
void each(const WeightLayout& layout, F f) {
  for (const Slice& slice : layout.slices)
    for (std::int64_t i = slice.offset; i < slice.offset + slice.count; ++i) f(std::size_t(i));
}

}  // namespace

bool moved(float before, float after, double tolerance) {
  return std::bit_cast<std::uint32_t>(before) != std::bit_cast<std::uint32_t>(after) &&
         !(std::abs(double(after) - double(before)) <= tolerance);
}

std::vector<TensorChange> changes(const WeightLayout& layout, std::span<const float> before,
                                  std::span<const float> after, double tolerance) {
  std::vector<TensorChange> all;
  for (const Slice& slice : layout.slices) {
    TensorChange change{slice.name, slice.count, 0};
    for (auto i = std::size_t(slice.offset); i < std::size_t(slice.offset + slice.count); ++i)
      change.changed += moved(before[i], after[i], tolerance) ? 1 : 0;
    all.push_back(std::move(change));
  }
  return all;
}

void keep_largest_changes(const WeightLayout& layout, std::span<const float> before, double keep,
                          double scale, std::span<float> after) {
  std::vector<float> size;
  each(layout, [&](std::size_t i) { size.push_back(std::abs(after[i] - before[i])); });
  const auto kept = std::size_t(std::llround(keep * double(size.size())));
  float least = 0.0F;
  std::size_t larger = 0;
  if (kept > 0 && kept <= size.size()) {
    std::nth_element(size.begin(), size.begin() + std::ptrdiff_t(kept - 1), size.end(),
                     std::greater<>());
    least = size[kept - 1];
    larger =
        std::size_t(std::count_if(size.begin(), size.end(), [&](float s) { return s > least; }));
  }
  std::size_t equal = kept - larger;  // moves at the limit that may stay
  each(layout, [&](std::size_t i) {
    const float s = std::abs(after[i] - before[i]);
    const bool stays = kept > 0 && (s > least || (s == least && equal > 0));
    if (kept > 0 && stays && s == least) --equal;
    after[i] = stays ? float(double(before[i]) + scale * (double(after[i]) - double(before[i])))
                     : before[i];
  });
}

void add_share(std::span<const float> weights, double share, std::span<double> sum) {
  for (std::size_t i = 0; i < weights.size(); ++i) sum[i] += share * double(weights[i]);
}

}  // namespace rollcall::model
