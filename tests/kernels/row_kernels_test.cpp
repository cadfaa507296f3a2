// rms_norm, rope and swiglu: against the reference, same bits on every set and in any cut of the
// rows, backward as the derivative.
#include "operands.hpp"

#include <rapidcheck.h>

#include <functional>

namespace rollcall::kernels {
namespace {

constexpr float kEps = 1e-6F;

/// Outputs of one kernel over `rows` rows from `first` on, n in all; a row's outputs are
/// contiguous.
using RowKernel = std::function<Floats(const KernelSet&, std::int64_t first, std::int64_t rows)>;

struct RowCase {
  std::int64_t n, d;
  Floats x, up, dy, weight;

  RowCase(std::int64_t rows, std::int64_t width, unsigned seed, float spread = 1.0F)
      : n(rows),
        d(width),
        x(random_floats(n * d, seed, spread)),
        up(random_floats(n * d, seed + 1)),
        dy(random_floats(n * d, seed + 2)),
        weight(random_floats(d, seed + 3)) {}

  Floats rms_norm(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    ExecutionContext context;
    Floats y(static_cast<std::size_t>(rows * d));
    set.rms_norm(context, x.data() + first * d, rows, d, weight.data(), kEps, y.data());
    return y;
  }
  /// dx; `dweight` is added to.
  Floats rms_norm_backward(const KernelSet& set, std::int64_t first, std::int64_t rows,
                           Floats& dweight) const {
    ExecutionContext context;
    Floats dx(static_cast<std::size_t>(rows * d));
    set.rms_norm_backward(context, x.data() + first * d, rows, d, weight.data(), kEps,
                          dy.data() + first * d, dx.data(), dweight.data());
    return dx;
  }
  Floats swiglu(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    ExecutionContext context;
    Floats y(static_cast<std::size_t>(rows * d));
    set.swiglu(context, x.data() + first * d, up.data() + first * d, rows, d, y.data());
    return y;
  }
  /// dgate and dup, one after the other.
  Floats swiglu_backward(const KernelSet& set) const {
    ExecutionContext context;
    Floats gradients(static_cast<std::size_t>(2 * n * d));
    set.swiglu_backward(context, x.data(), up.data(), n, d, dy.data(), gradients.data(),
                        gradients.data() + n * d);
    return gradients;
  }
  /// x as one head of d per row, turned; positions are the row numbers.
  Floats rope(const KernelSet& set, std::int64_t first, std::int64_t rows, int direction) const {
    Floats cos, sin;
    for (std::int64_t i = 0; i < n * (d / 2); ++i)
      cos.push_back(std::cos(0.1F * static_cast<float>(i))),
          sin.push_back(std::sin(0.1F * static_cast<float>(i)));
    std::vector<std::int32_t> position;
    for (std::int64_t i = first; i < first + rows; ++i)
      position.push_back(static_cast<std::int32_t>(i));
    Floats turned(x.begin() + first * d, x.begin() + (first + rows) * d);
    ExecutionContext context;
    set.rope(context, turned.data(), rows, 1, d, position.data(), cos.data(), sin.data(),
             direction);
    return turned;
  }
};

rc::Gen<RowCase> cases() {
  return rc::gen::exec([] {
    return RowCase(*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 80),
                   *rc::gen::arbitrary<unsigned>());
  });
}

TEST(RowKernels, AgreeWithReference) {
  for (const std::int64_t n : {1, 3})
    for (const std::int64_t d : {1, 7, 16, 17, 33, 128, 352}) {
      const RowCase c(n, d, 1, 3.0F);
      const KernelSet& truth = reference_kernels();
      for (const KernelSet* set : every_set()) {
        Floats dweight(static_cast<std::size_t>(d), 0.5F), expected = dweight;
        ASSERT_TRUE(near(c.rms_norm(*set, 0, n), c.rms_norm(truth, 0, n), 1e-6)) << set->name << d;
        ASSERT_TRUE(near(c.rms_norm_backward(*set, 0, n, dweight),
                         c.rms_norm_backward(truth, 0, n, expected), 2e-6))
            << set->name << d;
        ASSERT_TRUE(near(dweight, expected, 2e-6)) << set->name << d;
        ASSERT_TRUE(near(c.swiglu(*set, 0, n), c.swiglu(truth, 0, n), 1e-6)) << set->name << d;
        ASSERT_TRUE(near(c.swiglu_backward(*set), c.swiglu_backward(truth), 1e-6))
            << set->name << d;
        ASSERT_TRUE(near(c.rope(*set, 0, n, 1), c.rope(truth, 0, n, 1), 1e-6)) << set->name << d;
      }
    }
}

TEST(RowKernels, SetsAreBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    const RowCase c = *cases();
    for (const KernelSet* set : every_set()) {
      Floats dweight(static_cast<std::size_t>(c.d)), plain = dweight;
      RC_ASSERT(same_bits(c.rms_norm(*set, 0, c.n), c.rms_norm(plain_set(), 0, c.n)));
      RC_ASSERT(same_bits(c.rms_norm_backward(*set, 0, c.n, dweight),
                          c.rms_norm_backward(plain_set(), 0, c.n, plain)));
      RC_ASSERT(same_bits(dweight, plain));
      RC_ASSERT(same_bits(c.swiglu(*set, 0, c.n), c.swiglu(plain_set(), 0, c.n)));
      RC_ASSERT(same_bits(c.swiglu_backward(*set), c.swiglu_backward(plain_set())));
      RC_ASSERT(same_bits(c.rope(*set, 0, c.n, -1), c.rope(plain_set(), 0, c.n, -1)));
    }
  }));
}

TEST(RowKernels, RowsDoNotDependOnTheirBatch) {
  EXPECT_TRUE(rc::check([] {
    const RowCase c = *cases();
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n);
    Floats whole_sum(static_cast<std::size_t>(c.d)), cut_sum = whole_sum, unused = whole_sum;
    const RowKernel backward = [&](const KernelSet& set, std::int64_t first, std::int64_t rows) {
      return c.rms_norm_backward(set, first, rows, unused);
    };
    const RowKernel kernels[] = {
        [&](auto& set, auto first, auto rows) { return c.rms_norm(set, first, rows); },
        [&](auto& set, auto first, auto rows) { return c.swiglu(set, first, rows); },
        [&](auto& set, auto first, auto rows) { return c.rope(set, first, rows, 1); }, backward};
    for (const KernelSet* set : every_set())
      for (const RowKernel& kernel : kernels) {
        const Floats whole = kernel(*set, 0, c.n);
        RC_ASSERT(same_bits(Floats(whole.begin() + cut * c.d, whole.end()),
                            kernel(*set, cut, c.n - cut)));
      }
#ifndef ROLLCALL_DEVICE_TESTS  // whose sums go over stretches of rows: device_kernels_test
    // dweight goes over the rows in ascending order, so two calls add up to one.
    c.rms_norm_backward(plain_set(), 0, c.n, whole_sum);
    c.rms_norm_backward(plain_set(), 0, cut, cut_sum);
    c.rms_norm_backward(plain_set(), cut, c.n - cut, cut_sum);
    RC_ASSERT(same_bits(whole_sum, cut_sum));
#endif
  }));
}

TEST(RowKernels, RopeTurnsBack) {
  const RowCase c(5, 34, 3);
  for (const KernelSet* set : every_set()) {
    RowCase turned = c;
    turned.x = c.rope(*set, 0, c.n, 1);
    EXPECT_FALSE(near(turned.x, c.x, 1e-2));
    EXPECT_TRUE(near(turned.rope(*set, 0, c.n, -1), c.x, 1e-6)) << set->name;
  }
}

TEST(RowKernels, HandWorked) {
  ExecutionContext context;
  for (const KernelSet* set : every_set()) {
    // rms of (3, 4) is sqrt(12.5); a quarter turn takes the pair (3, 4) to (-4, 3); silu(ln 3) = ln
    // 3 * 3/4.
    const Floats x{3, 4}, weight{2, 1};
    Floats y(2);
    set->rms_norm(context, x.data(), 1, 2, weight.data(), 0.0F, y.data());
    EXPECT_TRUE(near(y, {6.0F / std::sqrt(12.5F), 4.0F / std::sqrt(12.5F)}, 1e-6)) << set->name;
    Floats pair = x;
    const float cos = 0.0F, sin = 1.0F;
    const std::int32_t position = 0;
    set->rope(context, pair.data(), 1, 1, 2, &position, &cos, &sin, 1);
    EXPECT_EQ(pair, (Floats{-4, 3})) << set->name;
    const float gate = std::log(3.0F), up = 2.0F;
    Floats product(1);
    set->swiglu(context, &gate, &up, 1, 1, product.data());
    EXPECT_NEAR(product[0], std::log(3.0F) * 1.5F, 1e-6F) << set->name;
  }
}

TEST(RowKernels, ExtremeGatesStayFinite) {
  RowCase c(1, 6, 1);
  c.x = {-1e30F, -100.0F, -0.0F, 0.0F, 100.0F, 1e30F};
  c.up = c.dy = Floats(6, 1.0F);
  for (const KernelSet* set : every_set()) {
    EXPECT_TRUE(near(c.swiglu(*set, 0, 1), {0, 0, 0, 0, 100.0F, 1e30F}, 1e-6)) << set->name;
    EXPECT_TRUE(
        near(c.swiglu_backward(*set), {0, 0, 0.5F, 0.5F, 1, 1, 0, 0, 0, 0, 100.0F, 1e30F}, 1e-6))
        << set->name;
  }
}

TEST(RowKernels, ReferenceBackwardIsTheDerivative) {
  RowCase c(2, 5, 9);
  const KernelSet& truth = reference_kernels();
  Floats dweight(5);
  const Floats dx = c.rms_norm_backward(truth, 0, 2, dweight), gates = c.swiglu_backward(truth);
  const auto check = [&](float& value, double gradient, const auto& forward) {
    const float kept = value, step = 1e-2F;
    double loss[2];
    for (const int side : {0, 1}) {
      value = kept + (side == 0 ? -step : step);
      const Floats y = forward();
      loss[side] = 0.0;
      for (std::size_t i = 0; i < y.size(); ++i) loss[side] += static_cast<double>(y[i]) * c.dy[i];
    }
    value = kept;
    // Central difference: error of order step^2.
    EXPECT_NEAR(gradient, (loss[1] - loss[0]) / (2.0 * step), 2e-3);
  };
  const auto norm = [&] { return c.rms_norm(truth, 0, 2); };
  const auto product = [&] { return c.swiglu(truth, 0, 2); };
  for (std::size_t i = 0; i < 10; ++i) {
    check(c.x[i], dx[i], norm);
    check(c.x[i], gates[i], product);
    check(c.up[i], gates[10 + i], product);
  }
  for (std::size_t j = 0; j < 5; ++j) check(c.weight[j], dweight[j], norm);
}

}  // namespace
}  // namespace rollcall::kernels
