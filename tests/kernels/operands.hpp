// Operands and comparisons shared by the kernel tests.
#pragma once

#include "kernels/kernel_set.hpp"
#include "kernels/packing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace rollcall::kernels {

using Floats = std::vector<float>;

/// Normal(0, spread) numbers; the same for the same seed.
inline Floats random_floats(std::int64_t count, unsigned seed, float spread = 1.0F) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(engine);
  return values;
}

inline std::vector<std::int32_t> random_targets(std::int64_t count, std::int64_t v, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::int32_t> any(-1, static_cast<std::int32_t>(v) - 1);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(count));
  for (std::int32_t& target : targets) target = any(engine);
  return targets;
}

inline Floats packed(const Floats& w, std::int64_t o, std::int64_t k) {
  Floats p(static_cast<std::size_t>(packed_bytes_fp32(o, k)) / sizeof(float));
  pack_fp32(w.data(), o, k, p.data());
  return p;
}

/// A whole product.
inline void linear_of(const KernelSet& set, const float* x, std::int64_t n, std::int64_t k,
                      const void* w, std::int64_t o, const float* bias, int slices, float* y) {
  ExecutionContext context;
  const Product product{w, o, bias, y};
  set.linear(context, x, n, k, &product, 1, slices, 0, panels_of(o));
}

/// One sequence's keys and values [t, kv_heads, head_dim] in pages of a set's own, and the table
/// that rows point to.
class Pages {
 public:
  Pages(const KernelSet& set, const Floats& k, const Floats& v, HeadShape shape) {
    const std::int64_t width = shape.kv_heads * shape.head_dim,
                       t = static_cast<std::int64_t>(k.size()) / width;
    memory_.resize(static_cast<std::size_t>(pages_of(t)));
    for (auto& page : memory_) {
      // no page is prepared
      page.assign(static_cast<std::size_t>(set.page_bytes(shape) / 8), std::nan(""));
      table_.push_back(page.data());
    }
    for (std::int64_t j = 0; j < t; ++j)
      set.store_position(k.data() + j * width, v.data() + j * width, shape, j % kPageKeys,
                         memory_[static_cast<std::size_t>(j / kPageKeys)].data());
  }
  AttentionRow row(std::int64_t keys) const { return {table_.data(), keys}; }
  const std::vector<const void*>& table() const { return table_; }

 private:
  std::vector<std::vector<double>> memory_;
  std::vector<const void*> table_;
};

#ifdef ROLLCALL_DEVICE_TESTS
// The same properties of the device: the one set there is, equal to itself whatever the order of
// its threads.
const KernelSet& device_set();
inline std::vector<const KernelSet*> simd_sets() { return {&device_set()}; }
inline std::vector<const KernelSet*> every_set() { return simd_sets(); }
inline const KernelSet& plain_set() { return device_set(); }
inline constexpr bool kGivesExponentials = false;  // for draws on the host
#else
inline const KernelSet& plain_set() { return scalar_kernels(); }
inline constexpr bool kGivesExponentials = true;

/// The bit-identical sets that run here.
inline std::vector<const KernelSet*> simd_sets() {
  std::vector<const KernelSet*> sets;
  for (const char* name : {"scalar", "avx2", "avx512"})
    if (const KernelSet* set = kernels_by_name(name)) sets.push_back(set);
  return sets;
}
#endif

/// The sets of these numerics that run here, the plain one first.
inline std::vector<const KernelSet*> sets_of(const char* numerics) {
  std::vector<const KernelSet*> sets;
  for (const char* name : {"scalar", "avx2", "avx512", "avx512_bf16", "amx"})
    if (const KernelSet* set = kernels_by_name(name, numerics)) sets.push_back(set);
  return sets;
}

#ifndef ROLLCALL_DEVICE_TESTS
/// Those of both numerics: what is no product has the same bits in all of them.
inline std::vector<const KernelSet*> every_set() {
  auto sets = simd_sets();
  for (const KernelSet* set : sets_of("bf16_sliced8")) sets.push_back(set);
  return sets;
}
#endif

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Every |a - b| at most tolerance * (1 + |b|).
inline ::testing::AssertionResult near(const Floats& a, const Floats& b, double tolerance) {
  if (a.size() != b.size())
    return ::testing::AssertionFailure() << a.size() << " values, expected " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(static_cast<double>(a[i]) - b[i]) <=
          tolerance * (1.0 + std::abs(static_cast<double>(b[i])))))
      return ::testing::AssertionFailure()
             << "element " << i << " is " << a[i] << ", expected " << b[i];
  return ::testing::AssertionSuccess();
}

}  // namespace rollcall::kernels
