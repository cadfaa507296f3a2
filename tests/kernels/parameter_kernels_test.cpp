// Parameter kernels: AdamW against hand-worked steps, fixed-point sums exact in any order, overflow
// noticed, norms in fixed blocks.
#include "kernels/parameter_kernels.hpp"

#include "operands.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace rollcall::kernels {
namespace {

/// Kokkos ends with the process: it cannot start twice.
class ParameterKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { static const KokkosScope kokkos; }
};

TEST_F(ParameterKernels, AdamWHandWorked) {
  // Step 1 from m = v = 0: m_hat = g, v_hat = g^2, so w falls by lr (1 + weight_decay w) for g > 0
  // and eps = 0.
  Floats w{2.0F, -1.0F}, m(2), v(2);
  const Floats g{0.5F, -0.25F};
  adamw(w, g, m, v,
        {.lr = 0.1,
         .beta1 = 0.9,
         .beta2 = 0.99,
         .eps = 0.0,
         .weight_decay = 0.5,
         .gradient_scale = 2.0,
         .step = 1});
  EXPECT_TRUE(near(w, {2.0F - 0.1F * (1.0F + 1.0F), -1.0F - 0.1F * (-1.0F - 0.5F)}, 1e-6));
  EXPECT_TRUE(near(m, {0.1F, -0.05F}, 1e-7));
  EXPECT_TRUE(near(v, {0.01F, 0.0025F}, 1e-7));
  // Step 2 with g = 0: m = 0.09, v = 0.0099; m_hat = 0.09/0.19, v_hat = 0.0099/0.0199; eps = 0.1.
  Floats w2{0.0F}, m2{0.1F}, v2{0.01F};
  adamw(w2, Floats{0.0F}, m2, v2,
        {.lr = 1.0,
         .beta1 = 0.9,
         .beta2 = 0.99,
         .eps = 0.1,
         .weight_decay = 0.0,
         .gradient_scale = 1.0,
         .step = 2});
  EXPECT_NEAR(w2[0], -(0.09 / 0.19) / (std::sqrt(0.0099 / 0.0199) + 0.1), 1e-6);
}

TEST_F(ParameterKernels, FixedPointHandWorked) {
  std::vector<std::int64_t> sum{0, 10, 0, 0};
  // At 2^2: 1.25 is 5, -0.5 is -2; 0.125 is 0.5, a tie, which goes to the even 0; 0.375 is 1.5, to
  // 2.
  EXPECT_EQ(accumulate_fixed_point(Floats{1.25F, -0.5F, 0.125F, 0.375F}, 2, sum), 1.25F);
  EXPECT_EQ(sum, (std::vector<std::int64_t>{5, 8, 0, 2}));
  Floats back(4);
  from_fixed_point(sum, 2, back);
  EXPECT_EQ(back, (Floats{1.25F, 2.0F, 0.0F, 0.5F}));
}

TEST_F(ParameterKernels, FixedPointSumsAreTheSameInAnyOrder) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t micro_batches = *rc::gen::inRange(1, 12), size = *rc::gen::inRange(1, 20);
    std::vector<Floats> gradients;
    for (std::int64_t l = 0; l < micro_batches; ++l)
      gradients.push_back(random_floats(size, *rc::gen::arbitrary<unsigned>(),
                                        *rc::gen::element(1e-6F, 1.0F, 1e3F)));
    const auto total = [&] {
      std::vector<std::int64_t> sum(static_cast<std::size_t>(size));
      for (const Floats& gradient : gradients)
        RC_ASSERT(std::isfinite(accumulate_fixed_point(gradient, 30, sum)));
      return sum;
    };
    const auto once = total();
    std::shuffle(gradients.begin(), gradients.end(), std::mt19937(*rc::gen::arbitrary<unsigned>()));
    RC_ASSERT(total() == once);
  }));
}

TEST_F(ParameterKernels, FixedPointNoticesWhatDoesNotFit) {
  const float inf = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::int64_t> sum(2);
  EXPECT_EQ(accumulate_fixed_point(Floats{1.0F}, 52, sum), 1.0F);
  EXPECT_EQ(sum[0], std::int64_t{1} << 52);
  EXPECT_EQ(accumulate_fixed_point(Floats{-1.0F}, 52, sum), 1.0F);
  EXPECT_EQ(sum[0], 0);
  for (const float value : {1.0000001F, -1.0000001F, 1e30F})
    EXPECT_EQ(accumulate_fixed_point(Floats{0.5F, value}, 52, sum), std::abs(value));
  for (const float value : {inf, -inf, nan})
    EXPECT_EQ(accumulate_fixed_point(Floats{value, 0.5F}, 52, sum), inf) << value;
}

TEST_F(ParameterKernels, FromFixedPointRoundsOnce) {
  const std::int64_t one = 1;
  // 2^60 + 2^36 lies halfway between two floats (spacing 2^37) and goes to the even one; a bit more
  // goes up. Rounding to double first would miss it.
  const std::int64_t tie = (one << 60) + (one << 36);
  const std::vector<std::int64_t> sum{tie, tie + 1, -tie - 1, tie + (one << 37), 5, -5};
  Floats got(sum.size());
  from_fixed_point(sum, 0, got);
  const float p60 = std::ldexp(1.0F, 60), ulp = std::ldexp(1.0F, 37);
  EXPECT_EQ(got, (Floats{p60, p60 + ulp, -(p60 + ulp), p60 + 2 * ulp, 5.0F, -5.0F}));
  from_fixed_point(sum, 200, got);  // 5 * 2^-200 is below every float; 2^-140 is subnormal
  EXPECT_EQ(got[0], std::ldexp(1.0F, -140));
  EXPECT_EQ(got[4], 0.0F);
}

TEST_F(ParameterKernels, SumOfSquares) {
  EXPECT_EQ(sum_of_squares({}), 0.0);
  EXPECT_EQ(sum_of_squares(Floats{3.0F, 4.0F}), 25.0);
  for (const std::size_t size : {std::size_t(17), kNormBlock}) {
    const Floats values = random_floats(std::int64_t(size), 1);
    long double exact = 0.0L;
    for (const float value : values) exact += static_cast<long double>(value) * value;
    EXPECT_NEAR(sum_of_squares(values), static_cast<double>(exact), 1e-9);
  }
}

/// Values and sums of all sizes, in pieces of any length.
TEST_F(ParameterKernels, SetsAreBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t size = *rc::gen::inRange(0, 3000);
    const Floats values = random_floats(size, *rc::gen::arbitrary<unsigned>(),
                                        *rc::gen::element(1e-30F, 1e-3F, 1.0F, 1e3F));
    std::vector<std::int64_t> large;
    for (const float value : values)
      large.push_back(std::int64_t(std::clamp(value, -1.0F, 1.0F) * 9e18F));
    const double scale = *rc::gen::element(1.0, 1099511627776.0, 1.0 / 1099511627776.0);
    const auto all = [&](const KernelSet& set) {
      std::vector<std::int64_t> sum(values.size(), 3);
      Floats back(values.size()),
          largest{set.accumulate_fixed_point(values.data(), size, scale, sum.data())};
      set.from_fixed_point(large.data(), size, scale, back.data());
      return std::tuple(sum, back, largest, set.sum_of_squares(values.data(), size));
    };
    for (const KernelSet* set : every_set()) RC_ASSERT(all(*set) == all(scalar_kernels()));
  }));
}

TEST_F(ParameterKernels, AdamWOfEverySetIsBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    // of several pieces
    const std::int64_t size = *rc::gen::inRange(1, 3000) + *rc::gen::element(0, 0, 0, 40000);
    const auto seed = *rc::gen::arbitrary<unsigned>();
    const Floats w = random_floats(size, seed),
                 g = random_floats(size, seed + 1, *rc::gen::element(1e-30F, 1e-6F, 1.0F, 1e20F));
    const Floats m = random_floats(size, seed + 2, 1e-3F);
    Floats v = random_floats(size, seed + 3, 1e-6F);
    for (float& value : v) value = std::abs(value);
    const AdamWStep step{.lr = 1e-3,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .eps = 1e-8,
                         .weight_decay = 0.1,
                         .gradient_scale = 0.7,
                         .step = 3};
    const auto all = [&](const KernelSet& set) {
      Floats weight = w, first = m, second = v;
      set.adamw(weight.data(), g.data(), first.data(), second.data(), size, step, 0.271, 0.003);
      return std::tuple(weight, first, second);
    };
    for (const KernelSet* set : every_set()) {
      if (set->adamw == nullptr) continue;  // a device's has a test of its own
      RC_ASSERT(all(*set) == all(scalar_kernels()));
    }
    Floats weight = w, first = m, second = v;
    adamw(weight, g, first, second, step);
    for (std::size_t i = 0; i < weight.size(); ++i) {  // the formula in long double
      const long double gradient = 0.7L * g[i], mean = 0.9L * m[i] + 0.1L * gradient,
                        square = 0.999L * v[i] + 0.001L * gradient * gradient;
      const long double by = mean / (1 - 0.9L * 0.9L * 0.9L) /
                                 (std::sqrt(square / (1 - 0.999L * 0.999L * 0.999L)) + 1e-8L) +
                             0.1L * w[i];
      RC_ASSERT(std::abs(static_cast<long double>(weight[i]) - (w[i] - 1e-3L * by)) <=
                1e-7L * std::abs(w[i]) + 1e-9L * std::abs(by) + 1e-9L);
    }
  }));
}

}  // namespace
}  // namespace rollcall::kernels
