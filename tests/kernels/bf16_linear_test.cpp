// linear of bf16_sliced8: against loops that follow its definition bit for bit and against double,
// the same bits on every set, rows that know nothing of their batch.
#include "operands.hpp"

#include "kernels/bf16.hpp"

#include <rapidcheck.h>

#include <array>
#include <limits>
#include <tuple>

namespace rollcall::kernels {
namespace {

std::vector<const KernelSet*> bf16_sets() {
  std::vector<const KernelSet*> sets;
  for (const char* name : {"scalar", "avx2", "avx512", "avx512_bf16", "amx"})
    if (const KernelSet* set = kernels_by_name(name, kBf16Sliced8)) sets.push_back(set);
  return sets;
}

struct SlicedCase {
  std::int64_t n, k, o;
  int slices;
  Floats x, w, bias;
  std::vector<std::uint64_t> panels;  // of 8 bytes, so that they are aligned

  SlicedCase(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, int parts,
             unsigned seed = 1, float spread = 1.0F)
      : n(rows),
        k(inputs),
        o(outputs),
        slices(parts),
        x(random_floats(n * k, seed, spread)),
        w(random_floats(o * k, seed + 1, spread)),
        bias(random_floats(o, seed + 2)) {
    pack();
  }
  void pack() {
    panels.assign(static_cast<std::size_t>(packed_bytes_bf16(o, k) / 8), 0);
    pack_bf16(w.data(), o, k, panels.data());
  }
  Floats run(const KernelSet& set, std::int64_t first, std::int64_t rows,
             bool with_bias = true) const {
    Floats y(static_cast<std::size_t>(rows * o), -7.0F);
    linear_of(set, x.data() + first * k, rows, k, panels.data(), o,
              with_bias ? bias.data() : nullptr, slices, y.data());
    return y;
  }
  Floats run(const KernelSet& set) const { return run(set, 0, n); }

  /// One output as the definition has it, with every rounding in place. Operands must be far from
  /// the denormal numbers.
  float defined(std::int64_t row, std::int64_t output) const {
    const std::int64_t blocks = (k + 31) / 32;
    const auto at = [&](const Floats& of, std::int64_t line, std::int64_t j) {
      return j < k ? from_bf16(to_bf16(of[static_cast<std::size_t>(line * k + j)])) : 0.0F;
    };
    std::array<float, 8> part{};
    for (int s = 0; s < slices; ++s)
      for (std::int64_t b = blocks * s / slices; b < blocks * (s + 1) / slices; ++b) {
        float even = 0, odd = 0;
        for (std::int64_t j = 32 * b; j < 32 * (b + 1); j += 2) {
          even = std::fma(at(x, row, j), at(w, output, j), even);
          odd = std::fma(at(x, row, j + 1), at(w, output, j + 1), odd);
        }
        part[static_cast<std::size_t>(s)] += even + odd;
      }
    for (std::size_t width = static_cast<std::size_t>(slices); width > 1; width /= 2)
      for (std::size_t i = 0; i < width / 2; ++i) part[i] = part[2 * i] + part[2 * i + 1];
    return part[0] + bias[static_cast<std::size_t>(output)];
  }
};

TEST(Bf16Linear, RoundsToTheNearestTiesToEven) {
  EXPECT_EQ(to_bf16(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16(1.0F + 0x1p-8F), 0x3F80);  // half-way between 1 and 1 + 2^-7: to the even one
  EXPECT_EQ(to_bf16(1.0F + 0x1p-7F + 0x1p-8F), 0x3F82);  // half-way again: up
  EXPECT_EQ(to_bf16(1.0F + 0x1p-8F + 0x1p-20F), 0x3F81);
  EXPECT_EQ(to_bf16(-3.0e38F), 0xFF62);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);  // beyond the largest: infinity
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::signaling_NaN()))));
}

TEST(Bf16Linear, HandWorked) {
  // x = (1, 2, 1 + 2^-8), which rounds to (1, 2, 1); W = ((3, 4, 0.5), (5, 6, 0)), bias (0.5, -1):
  // y = (12, 16).
  SlicedCase c(1, 3, 2, 1);
  c.x = {1, 2, 1.0F + 0x1p-8F}, c.w = {3, 4, 0.5F, 5, 6, 0}, c.bias = {0.5F, -1};
  c.pack();
  for (const KernelSet* set : bf16_sets())
    EXPECT_EQ(c.run(*set), (Floats{12.0F, 16.0F})) << set->name;
}

TEST(Bf16Linear, FollowsItsDefinition) {
  for (const KernelSet* set : bf16_sets())
    for (const auto& [n, k, o, slices] :
         std::vector<std::tuple<int, int, int, int>>{{1, 1, 1, 1},
                                                     {3, 33, 17, 1},
                                                     {17, 64, 5, 1},
                                                     {2, 300, 16, 8},
                                                     {33, 608, 31, 8},
                                                     {16, 96, 48, 8},
                                                     {5, 257, 33, 4}}) {
      const SlicedCase c(n, k, o, slices, 5);
      const Floats y = c.run(*set);
      for (std::int64_t row = 0; row < n; ++row)
        for (std::int64_t output = 0; output < o; ++output)
          ASSERT_EQ(y[static_cast<std::size_t>(row * o + output)], c.defined(row, output))
              << set->name << " " << n << " " << k << " " << o;
    }
}

TEST(Bf16Linear, SetsAreBitIdenticalAndRowsIndependent) {
  EXPECT_TRUE(rc::check([] {
    const SlicedCase c(*rc::gen::inRange(1, 70), *rc::gen::inRange(1, 400),
                       *rc::gen::inRange(1, 100), *rc::gen::element(1, 8),
                       *rc::gen::arbitrary<unsigned>(), *rc::gen::element(1.0F, 1e-3F, 1e15F));
    const Floats plain = c.run(*kernels_by_name("scalar", kBf16Sliced8));
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n);
    for (const KernelSet* set : bf16_sets()) {
      RC_ASSERT(same_bits(c.run(*set), plain));
      RC_ASSERT(
          same_bits(c.run(*set, cut, c.n - cut), Floats(plain.begin() + cut * c.o, plain.end())));
    }
  }));
}

/// Products and sums around the smallest normal number, where some processors would keep denormal
/// ones.
TEST(Bf16Linear, DenormalNumbersAreZeroOnEverySet) {
  EXPECT_TRUE(rc::check([] {
    SlicedCase c(*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 100), *rc::gen::inRange(1, 20),
                 *rc::gen::element(1, 8), *rc::gen::arbitrary<unsigned>(),
                 *rc::gen::element(1e-19F, 3e-20F, 1e-38F));
    c.bias.assign(c.bias.size(), 0.0F);
    const Floats plain = c.run(*kernels_by_name("scalar", kBf16Sliced8));
    for (const float y : plain)
      RC_ASSERT(y == 0.0F || std::abs(y) >= std::numeric_limits<float>::min());
    for (const KernelSet* set : bf16_sets()) RC_ASSERT(same_bits(c.run(*set), plain));
  }));
  // The caller's own arithmetic keeps its denormal numbers.
  const SlicedCase c(1, 8, 8, 1);
  for (const KernelSet* set : bf16_sets()) {
    c.run(*set);
    volatile float small = std::numeric_limits<float>::min();
    EXPECT_GT(small / 2, 0.0F) << set->name;
  }
}

TEST(Bf16Linear, IsAsNearToTheTruthAsItsRoundingAllows) {
  for (const std::int64_t k : {32, 576, 4864}) {
    const SlicedCase c(4, k, 40, 8, 9);
    const Floats y = c.run(*bf16_sets().back());
    double worst = 0.0;
    for (std::int64_t row = 0; row < c.n; ++row)
      for (std::int64_t output = 0; output < c.o; ++output) {
        double exact = c.bias[static_cast<std::size_t>(output)];
        for (std::int64_t j = 0; j < k; ++j)
          exact += static_cast<double>(c.x[static_cast<std::size_t>(row * k + j)]) *
                   c.w[static_cast<std::size_t>(output * k + j)];
        worst = std::max(worst, std::abs(exact - y[static_cast<std::size_t>(row * c.o + output)]));
      }
    // Two roundings of relative error at most 2^-9 in each of k products of unit variance: five
    // deviations of their sum.
    EXPECT_LT(worst, 5.0 * 0x1p-9 * std::sqrt(2.0 * static_cast<double>(k)));
    EXPECT_GT(worst, 0.0);
  }
}

TEST(Bf16Linear, NotANumberStaysOne) {
  SlicedCase c(20, 70, 20, 8);
  c.x[70 * 3 + 69] = std::numeric_limits<float>::quiet_NaN();
  for (const KernelSet* set : bf16_sets()) {
    const Floats y = c.run(*set);
    for (std::int64_t i = 0; i < c.n * c.o; ++i)
      EXPECT_EQ(std::isnan(y[static_cast<std::size_t>(i)]), i / c.o == 3) << set->name;
  }
}

}  // namespace
}  // namespace rollcall::kernels
