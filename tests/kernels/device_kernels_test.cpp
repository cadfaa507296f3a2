// The device's own kernels: products, embedding and AdamW against plain loops; rows that know
// nothing of their batch; the same bits each time.
#include "on_device.hpp"

#include "kernels/parameter_kernels.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <tuple>

namespace rollcall::kernels {
namespace {

using cuda::Rows16;
using cuda::stepped;

float rounded(float x) { return from_bf16(to_bf16(x)); }

OnDevice<Bf16> rounded_rows(const Floats& x, std::int64_t n, std::int64_t k) {
  ExecutionContext context;
  const OnDevice<float> on_x(x);
  OnDevice<Bf16> rows(n * stepped(k));
  cuda::round_rows(context, on_x, n, k, rows);
  return rows;
}

struct ProductCase {
  std::int64_t n, k, o;
  int slices;
  Floats x, w, bias;

  ProductCase(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, int parts,
              unsigned seed)
      : n(rows),
        k(inputs),
        o(outputs),
        slices(parts),
        x(random_floats(n * k, seed)),
        w(random_floats(o * k, seed + 1)),
        bias(random_floats(o, seed + 2)) {}

  Floats run(std::int64_t first, std::int64_t rows) const {
    ExecutionContext context;
    const OnDevice<Bf16> weights = rounded_rows(w, o, k);
    const OnDevice<float> on_x(x.data() + first * k, rows * k), on_bias(bias), y(rows * o);
    cuda::linear(context, on_x, rows, {weights, o, k}, on_bias, slices, y);
    return y.values();
  }
  double exact(std::int64_t row, std::int64_t output) const {
    double sum = bias[std::size_t(output)];
    for (std::int64_t j = 0; j < k; ++j)
      sum += double(rounded(x[std::size_t(row * k + j)])) * rounded(w[std::size_t(output * k + j)]);
    return sum;
  }
};

/// Sums of k products of unit variance in fp32: far nearer to the exact sum of the rounded operands
/// than 1e-5 sqrt(k) on any order.
TEST(DeviceProduct, AgreesWithDouble) {
  for (const auto& [n, k, o, slices] :
       std::vector<std::tuple<int, int, int, int>>{{1, 1, 1, 1},
                                                   {3, 33, 17, 1},
                                                   {9, 64, 65, 2},
                                                   {17, 300, 16, 8},
                                                   {40, 70, 31, 4},
                                                   {100, 40, 70, 1},
                                                   {200, 96, 20, 8},
                                                   {257, 33, 66, 1}}) {
    const ProductCase c(n, k, o, slices, 5);
    const Floats y = c.run(0, n);
    for (std::int64_t row = 0; row < n; ++row)
      for (std::int64_t output = 0; output < o; ++output)
        ASSERT_NEAR(y[std::size_t(row * o + output)], c.exact(row, output),
                    1e-5 * std::sqrt(double(k)) + 1e-6)
            << n << ' ' << k << ' ' << o << ' ' << row << ' ' << output;
  }
}

TEST(DeviceProduct, RowsDoNotDependOnTheirBatch) {
  for (const int slices : {1, 8}) {
    const ProductCase c(300, 100, 20, slices, 3);
    const Floats whole = c.run(0, c.n);
    for (const auto& [first, rows] :
         std::vector<std::pair<int, int>>{{0, 1}, {5, 8}, {100, 16}, {7, 30}, {210, 64}, {1, 128}})
      EXPECT_TRUE(same_bits(c.run(first, rows), Floats(whole.begin() + first * c.o,
                                                       whole.begin() + (first + rows) * c.o)))
          << first << ' ' << rows;
  }
}

TEST(DeviceProduct, ZeroesStandBehindRowsAndTransposed) {
  for (const auto& [n, k] : std::vector<std::pair<int, int>>{{1, 1}, {5, 40}, {33, 65}, {64, 32}}) {
    const Floats x = random_floats(n * k, 1);
    ExecutionContext context;
    const OnDevice<float> on_x(x);
    const OnDevice<Bf16> rows(n * stepped(k)), turned(k * stepped(n));
    cuda::round_rows(context, on_x, n, k, rows),
        cuda::round_transposed(context, on_x, n, k, turned);
    const auto a = rows.values(), b = turned.values();
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < stepped(k); ++j)
        ASSERT_EQ(a[std::size_t(i * stepped(k) + j)],
                  j < k ? to_bf16(x[std::size_t(i * k + j)]) : 0);
    for (std::int64_t j = 0; j < k; ++j)
      for (std::int64_t i = 0; i < stepped(n); ++i)
        ASSERT_EQ(b[std::size_t(j * stepped(n) + i)],
                  i < n ? to_bf16(x[std::size_t(i * k + j)]) : 0);
  }
}

/// dx = dy W and dW = dy^T x are products of transposed operands.
TEST(DeviceProduct, DerivativesAreProductsToo) {
  const std::int64_t n = 21, k = 18, o = 35;
  const ProductCase c(n, k, o, 1, 8);
  const Floats dy = random_floats(n * o, 4);
  ExecutionContext context;
  const OnDevice<float> on_dy(dy), on_w(c.w), on_x(c.x), dx(n * k), dw(o * k);
  const OnDevice<Bf16> w_turned(k * stepped(o)), x_turned(k * stepped(n)),
      dy_turned(o * stepped(n));
  cuda::round_transposed(context, on_w, o, k, w_turned),
      cuda::round_transposed(context, on_x, n, k, x_turned),
      cuda::round_transposed(context, on_dy, n, o, dy_turned);
  cuda::linear(context, on_dy, n, {w_turned, k, o}, nullptr, 1, dx);
  cuda::product(context, {dy_turned, o, n}, {x_turned, k, n}, nullptr, 1, dw);
  const Floats got_dx = dx.values(), got_dw = dw.values();
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < k; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < o; ++l)
        sum += double(rounded(dy[std::size_t(i * o + l)])) * rounded(c.w[std::size_t(l * k + j)]);
      ASSERT_NEAR(got_dx[std::size_t(i * k + j)], sum, 1e-4);
    }
  for (std::int64_t l = 0; l < o; ++l)
    for (std::int64_t j = 0; j < k; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < n; ++i)
        sum += double(rounded(dy[std::size_t(i * o + l)])) * rounded(c.x[std::size_t(i * k + j)]);
      ASSERT_NEAR(got_dw[std::size_t(l * k + j)], sum, 1e-4);
    }
}

TEST(DeviceRows, EmbeddingAndItsBackward) {
  const std::int64_t n = 40, v = 7, d = 33;
  const Floats table = random_floats(v * d, 1), dx = random_floats(n * d, 2);
  std::vector<std::int32_t> token;
  for (std::int64_t i = 0; i < n; ++i) token.push_back(std::int32_t(i * i % v));
  const OnDevice<Bf16> on_table = rounded_rows(table, v, d);
  const OnDevice<std::int32_t> on_token(token);
  const OnDevice<float> x(n * d), on_dx(dx), largest(Floats{0.25F});
  const OnDevice<std::int64_t> sum(std::vector<std::int64_t>(std::size_t(v * d), 5));
  ExecutionContext context;
  cuda::embed(context, {on_table, v, d}, on_token, n, x);
  cuda::embed_backward(context, on_dx, on_token, n, d, 0x1p30, sum, largest);
  cuda::add(context, on_dx, n * d, x);
  const Floats got = x.values();
  std::vector<std::int64_t> expected(std::size_t(v * d), 5);
  for (std::int64_t i = 0; i < n * d; ++i) {
    const auto at = std::size_t(token[std::size_t(i / d)] * d + i % d);
    ASSERT_EQ(got[std::size_t(i)], rounded(table[at]) + dx[std::size_t(i)]);
    expected[at] += std::int64_t(std::nearbyint(double(dx[std::size_t(i)]) * 0x1p30));
  }
  EXPECT_EQ(sum.values(), expected);
  float most = 0.25F;
  for (const float value : dx) most = std::max(most, std::abs(value));
  EXPECT_EQ(largest.values()[0], most);
}

TEST(DeviceRows, SumsOfRowsAndColumnsInOrder) {
  const std::int64_t n = 9, d = 37;
  const Floats x = random_floats(n * d, 3);
  const OnDevice<float> on_x(x), rows(3 * d), copies(2 * d), columns(d);
  const std::vector<std::int64_t> of{4, 0, 8, 4};  // of the first row three, of the second none, of
                                                   // the third one
  std::vector<const float*> place;
  for (const std::int64_t i : of) place.push_back(on_x + i * d);
  const OnDevice<const float*> on_place(place);
  const OnDevice<std::int32_t> begin(std::vector<std::int32_t>{0, 3, 3, 4});
  ExecutionContext context;
  cuda::sum_rows(context, on_place, begin, 3, d, rows);
  cuda::sum_rows(context, on_place, nullptr, 2, d, copies);
  cuda::sum_columns(context, on_x, n, d, columns);
  const Floats got = rows.values(), copied = copies.values(), summed = columns.values();
  for (std::int64_t j = 0; j < d; ++j) {
    const auto at = [&](std::int64_t i) { return x[std::size_t(i * d + j)]; };
    float column = 0.0F;
    for (std::int64_t i = 0; i < n; ++i) column += at(i);
    ASSERT_EQ(got[std::size_t(j)], at(4) + at(0) + at(8));
    ASSERT_EQ(got[std::size_t(d + j)], 0.0F);
    ASSERT_EQ(got[std::size_t(2 * d + j)], at(4));
    ASSERT_EQ(copied[std::size_t(j)], at(4));
    ASSERT_EQ(copied[std::size_t(d + j)], at(0));
    ASSERT_EQ(summed[std::size_t(j)], column);
  }
}

/// Stretches of kNormRows rows ascending: whole stretches in several calls add up to one call, and
/// the sums are near the plain loops'.
TEST(DeviceRows, SumsOverManyRowsAreMadeInStretches) {
  const std::int64_t n = 2 * cuda::kNormRows + 7, d = 140, cut = cuda::kNormRows;
  const Floats x = random_floats(n * d, 1), dy = random_floats(n * d, 2),
               weight(std::size_t(d), 1.0F), zeros(std::size_t(d), 0.0F);
  const OnDevice<float> on_x(x), on_dy(dy), on_weight(weight), dx(n * d), whole(zeros),
      parts(zeros), columns(d);
  ExecutionContext context;
  cuda::rms_norm_backward(context, on_x, n, d, on_weight, 1e-6F, on_dy, dx, whole);
  cuda::rms_norm_backward(context, on_x, cut, d, on_weight, 1e-6F, on_dy, dx, parts);
  cuda::rms_norm_backward(context, on_x + cut * d, n - cut, d, on_weight, 1e-6F, on_dy + cut * d,
                          dx, parts);
  EXPECT_EQ(whole.values(), parts.values());
  cuda::sum_columns(context, on_dy, n, d, columns);
  const Floats got = whole.values(), summed = columns.values();
  for (std::int64_t j = 0; j < d; ++j) {
    double dweight = 0.0, column = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      double square = 0.0;
      for (std::int64_t l = 0; l < d; ++l)
        square += double(x[std::size_t(i * d + l)]) * x[std::size_t(i * d + l)];
      dweight += double(dy[std::size_t(i * d + j)]) * x[std::size_t(i * d + j)] /
                 std::sqrt(square / double(d) + 1e-6);
      column += dy[std::size_t(i * d + j)];
    }
    ASSERT_NEAR(got[std::size_t(j)], dweight, 1e-4);
    ASSERT_NEAR(summed[std::size_t(j)], column, 1e-4);
  }
}

/// Kernels that round what they make give the bits of round_rows.
TEST(DeviceRows, WhatIsRoundedAtOnceIsTheSame) {
  for (const std::int64_t d : {1, 31, 96, 352}) {
    const std::int64_t n = 3, all = n * stepped(d);
    const OnDevice<float> x(random_floats(n * d, 1)), up(random_floats(n * d, 2)),
        weight(random_floats(d, 3)), y(n * d), plain(n * d);
    const OnDevice<Bf16> rounded(all), expected(all);
    ExecutionContext context;
    cuda::rms_norm(context, x, n, d, weight, 1e-6F, plain),
        cuda::rms_norm(context, x, n, d, weight, 1e-6F, y, rounded);
    cuda::round_rows(context, plain, n, d, expected);
    EXPECT_EQ(y.values(), plain.values());
    EXPECT_EQ(rounded.values(), expected.values());
    cuda::swiglu(context, x, up, n, d, plain), cuda::swiglu(context, x, up, n, d, y, rounded);
    cuda::round_rows(context, plain, n, d, expected);
    EXPECT_EQ(y.values(), plain.values());
    EXPECT_EQ(rounded.values(), expected.values());
  }
}

/// Several products of the same rows in one launch, and the same row in tiles of any size, whose
/// choice follows from the number of rows.
TEST(DeviceProduct, BitsAreTheSameWhateverTheTile) {
  const std::int64_t most = 700, k = 70;
  const std::int64_t outputs[] = {131, 40, 9};
  ExecutionContext context;
  std::vector<OnDevice<Bf16>> weights;
  std::vector<OnDevice<float>> alone, together;
  const OnDevice<Bf16> x = rounded_rows(random_floats(most * k, 4), most, k);
  for (const std::int64_t o : outputs) {
    weights.push_back(rounded_rows(random_floats(o * k, unsigned(o)), o, k)),
        alone.emplace_back(most * o), together.emplace_back(most * o);
    for (std::int64_t row = 0; row < most; ++row)
      if (row < 3 || row > most - 3)
        cuda::product(context, {x + row * stepped(k), 1, k}, {weights.back(), o, k}, nullptr, 1,
                      alone.back() + row * o);
  }
  std::vector<Floats> before(weights.size());
  for (const std::int64_t n : {3, 12, 20, 40, 100, 300, 700}) {
    std::vector<cuda::Factor> factors;
    for (std::size_t i = 0; i < weights.size(); ++i)
      factors.push_back({{weights[i], outputs[i], k}, nullptr, together[i]});
    cuda::products(context, {x, n, k}, factors);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const Floats one = alone[i].values(), all = together[i].values();
      for (std::int64_t at = 0; at < n * outputs[i]; ++at) {
        const std::int64_t row = at / outputs[i];
        if (row < 3 || row > most - 3) {
          ASSERT_EQ(one[std::size_t(at)], all[std::size_t(at)]) << n << ' ' << at;
        }
        if (std::size_t(at) < before[i].size()) {
          ASSERT_EQ(before[i][std::size_t(at)], all[std::size_t(at)]) << n << ' ' << at;
        }
      }
      before[i].assign(all.begin(), all.begin() + n * outputs[i]);
    }
  }
}

TEST(DeviceProduct, TransposesWhatIsRounded) {
  const std::int64_t n = 70, k = 41;
  const Floats x = random_floats(n * k, 4);
  const OnDevice<Bf16> on_x = rounded_rows(x, n, k), turned(k * stepped(n));
  ExecutionContext context;
  cuda::transpose(context, {on_x, n, k}, turned);
  const auto got = turned.values();
  for (std::int64_t j = 0; j < k; ++j)
    for (std::int64_t i = 0; i < stepped(n); ++i)
      ASSERT_EQ(got[std::size_t(j * stepped(n) + i)],
                i < n ? to_bf16(x[std::size_t(i * k + j)]) : 0)
          << i << ' ' << j;
}

TEST(DeviceParameters, AChecksumTellsValuesAndPlacesApartHoweverItIsCut) {
  const Floats x = random_floats(700, 9);
  const auto checksum = [](const Floats& values, const std::vector<std::int64_t>& cuts) {
    const OnDevice<float> on_values(values);
    const OnDevice<std::int64_t> sum(std::vector<std::int64_t>{0});
    ExecutionContext context;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      cuda::add_checksum(context, on_values + cuts[i], cuts[i], cuts[i + 1] - cuts[i], sum);
    return sum.values()[0];
  };
  const std::int64_t whole = checksum(x, {0, 700});
  EXPECT_EQ(checksum(x, {0, 1, 33, 699, 700}), whole);
  for (const std::size_t i : {std::size_t{0}, std::size_t{255}, std::size_t{699}}) {
    Floats other = x;
    other[i] = -other[i];
    EXPECT_NE(checksum(other, {0, 700}), whole) << i;
  }
  Floats swapped = x;
  std::swap(swapped[5], swapped[650]);
  EXPECT_NE(checksum(swapped, {0, 700}), whole);
}

TEST(DeviceParameters, AdamWIsTheHostsAndPublishes) {
  static const KokkosScope kokkos;
  const std::int64_t rows = 5, columns = 37;
  Floats w = random_floats(rows * columns, 1), m = random_floats(rows * columns, 2, 0.1F),
         v = random_floats(rows * columns, 3, 0.1F);
  for (float& x : v) x = std::abs(x);
  const Floats g = random_floats(rows * columns, 4);
  const AdamWStep step{.lr = 1e-2,
                       .beta1 = 0.9,
                       .beta2 = 0.95,
                       .eps = 1e-8,
                       .weight_decay = 0.1,
                       .gradient_scale = 0.5,
                       .step = 3};
  const OnDevice<float> on_w(w), on_m(m), on_v(v), on_g(g);
  const OnDevice<Bf16> published(rows * stepped(columns));
  ExecutionContext context;
  cuda::adamw(context, on_w, rows, columns, on_g, on_m, on_v, step, published);
  adamw(w, g, m, v, step);
  EXPECT_TRUE(same_bits(on_w.values(), w) && same_bits(on_m.values(), m) &&
              same_bits(on_v.values(), v));
  const auto packed_rows = published.values();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < stepped(columns); ++j)
      ASSERT_EQ(packed_rows[std::size_t(i * stepped(columns) + j)],
                j < columns ? to_bf16(w[std::size_t(i * columns + j)]) : 0);
}

}  // namespace
}  // namespace rollcall::kernels
