// linear: against the reference, the same bits on every instruction set, and rows that know nothing
// of their batch.
#include "operands.hpp"

#include "kernels/packing.hpp"

#include <rapidcheck.h>

namespace rollcall::kernels {
namespace {

struct LinearCase {
  std::int64_t n, k, o;
  Floats x, w, bias;

  LinearCase(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, unsigned seed = 1)
      : n(rows),
        k(inputs),
        o(outputs),
        x(random_floats(n * k, seed)),
        w(packed(random_floats(o * k, seed + 1), o, k)),
        bias(random_floats(o, seed + 2)) {}

  Floats run(const KernelSet& set, std::int64_t first, std::int64_t rows,
             bool with_bias = true) const {
    Floats y(static_cast<std::size_t>(rows * o));
    linear_of(set, x.data() + first * k, rows, k, w.data(), o, with_bias ? bias.data() : nullptr, 1,
              y.data());
    return y;
  }
};

TEST(Linear, HandWorked) {
  // x = (1, 2), W = ((3, 4), (5, 6)), bias = (0.5, -1): y = (11.5, 16).
  const Floats x{1, 2}, w = packed({3, 4, 5, 6}, 2, 2), bias{0.5F, -1};
  for (const KernelSet* set : simd_sets()) {
    Floats y(2);
    linear_of(*set, x.data(), 1, 2, w.data(), 2, bias.data(), 1, y.data());
    EXPECT_EQ(y, (Floats{11.5F, 16.0F})) << set->name;
  }
}

TEST(Linear, AgreesWithReference) {
  for (const std::int64_t n : {1, 2, 7, 8, 9, 17, 33})
    for (const std::int64_t k : {1, 7, 33, 128})
      for (const std::int64_t o : {1, 15, 16, 17, 33, 48, 65, 100}) {
        const LinearCase c(n, k, o);
        for (const bool bias : {false, true})
          for (const KernelSet* set : simd_sets())
            // k products of unit size rounded k times: error about sqrt(k) 2^-24 of values about
            // sqrt(k).
            ASSERT_TRUE(near(c.run(*set, 0, n, bias), c.run(reference_kernels(), 0, n, bias),
                             1e-7 * static_cast<double>(k + 8)))
                << set->name << ' ' << n << ' ' << k << ' ' << o;
      }
}

TEST(Linear, SetsAreBitIdentical) {
  EXPECT_TRUE(rc::check([] {
    const LinearCase c(*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 70),
                       *rc::gen::inRange(1, 120), *rc::gen::arbitrary<unsigned>());
    const Floats plain = c.run(scalar_kernels(), 0, c.n);
    for (const KernelSet* set : simd_sets()) RC_ASSERT(same_bits(c.run(*set, 0, c.n), plain));
  }));
}

TEST(Linear, RowsDoNotDependOnTheirBatch) {
  EXPECT_TRUE(rc::check([] {
    const LinearCase c(*rc::gen::inRange(1, 40), *rc::gen::inRange(1, 70),
                       *rc::gen::inRange(1, 120), *rc::gen::arbitrary<unsigned>());
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n);
    for (const KernelSet* set : simd_sets()) {
      const Floats whole = c.run(*set, 0, c.n), tail = c.run(*set, cut, c.n - cut),
                   one = c.run(*set, cut, 1);
      RC_ASSERT(same_bits(Floats(whole.begin() + cut * c.o, whole.end()), tail));
      RC_ASSERT(same_bits(Floats(whole.begin() + cut * c.o, whole.begin() + (cut + 1) * c.o), one));
    }
  }));
}

TEST(Linear, WritesNothingBeyondItsOutputs) {
  const LinearCase c(9, 5, 19);
  for (const KernelSet* set : simd_sets()) {
    Floats y(static_cast<std::size_t>(c.n * c.o + 16), 42.0F);
    linear_of(*set, c.x.data(), c.n, c.k, c.w.data(), c.o, c.bias.data(), 1, y.data());
    EXPECT_EQ(Floats(y.end() - 16, y.end()), Floats(16, 42.0F)) << set->name;
  }
}

/// Several products of the same x, in parts of any size as threads share them out, against each
/// alone; nothing is written outside a part.
TEST(Linear, PartsOfSeveralProductsAreTheWhole) {
  EXPECT_TRUE(rc::check([] {
    const auto numerics = *rc::gen::element(kFp32FixedOrder, kBf16Sliced8);
    const std::int64_t n = *rc::gen::inRange(1, 40), k = *rc::gen::inRange(1, 140);
    const auto seed = *rc::gen::arbitrary<unsigned>();
    const auto outputs =
        *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange<std::int64_t>(1, 90));
    const Floats x = random_floats(n * k, seed);
    for (const KernelSet* set : sets_of(numerics)) {
      std::vector<std::vector<double>> panels;
      std::vector<Floats> bias, alone, parts;
      std::vector<Product> products;
      std::int64_t all = 0;
      for (const std::int64_t o : outputs) {
        panels.emplace_back(static_cast<std::size_t>(set->packed_bytes(o, k) / 8));
        set->pack(random_floats(o * k, seed + 1).data(), o, k, panels.back().data());
        bias.push_back(random_floats(o, seed + 2));
        alone.emplace_back(n * o), parts.emplace_back(n * o, -3.0F);
        linear_of(*set, x.data(), n, k, panels.back().data(), o, bias.back().data(), 8,
                  alone.back().data());
        all += panels_of(o);
      }
      for (std::size_t i = 0; i < outputs.size(); ++i)
        products.push_back({panels[i].data(), outputs[i], bias[i].data(), parts[i].data()});
      ExecutionContext context;
      std::int64_t done = 0;
      while (done < all) {
        const std::int64_t end = *rc::gen::inRange<std::int64_t>(done, all) + 1;
        set->linear(context, x.data(), n, k, products.data(), 3, 8, done, end);
        const bool last_written = parts[2].back() != -3.0F;
        RC_ASSERT(last_written == (end == all));
        done = end;
      }
      for (std::size_t i = 0; i < outputs.size(); ++i) RC_ASSERT(same_bits(alone[i], parts[i]));
    }
  }));
}

TEST(Linear, PackingPadsWithZeros) {
  EXPECT_EQ(packed_bytes_fp32(17, 3), 2 * 16 * 3 * 4);
  const Floats p = packed({1, 2, 3, 4, 5, 6}, 3, 2);  // W[3,2]
  Floats expected(32, 0.0F);
  expected[0] = 1, expected[1] = 3, expected[2] = 5, expected[16] = 2, expected[17] = 4,
  expected[18] = 6;
  EXPECT_EQ(p, expected);
}

/// pack_transposed of W^T is pack of W in every byte, by any cut of its panels; transpose turns.
TEST(Linear, TransposedOperands) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t o = *rc::gen::inRange(1, 70), k = *rc::gen::inRange(1, 90),
                       cut = *rc::gen::inRange<std::int64_t>(0, panels_of(o) + 1);
    const Floats w = random_floats(o * k, *rc::gen::arbitrary<unsigned>());
    for (const char* numerics : {kFp32FixedOrder, kBf16Sliced8})
      for (const char* name : {"reference", "scalar", "avx2", "avx512", "avx512_bf16", "amx"}) {
        const KernelSet* set = kernels_by_name(name, numerics);
        if (set == nullptr) continue;
        Floats turned(w.size(), -1.0F);
        set->transpose(w.data(), o, k, k, turned.data());
        for (std::int64_t i = 0; i < o; ++i)
          for (std::int64_t j = 0; j < k; ++j)
            RC_ASSERT(turned[std::size_t(j * o + i)] == w[std::size_t(i * k + j)]);
        const auto bytes = std::size_t(set->packed_bytes(o, k));
        std::vector<char> plain(bytes, 1), packed(bytes, 2), parts(bytes, 3);
        set->numerics == std::string_view(kBf16Sliced8) ? pack_bf16(w.data(), o, k, plain.data())
                                                        : pack_fp32(w.data(), o, k, plain.data());
        set->pack(w.data(), o, k, packed.data());
        set->pack_transposed(turned.data(), k, o, 0, cut, parts.data());
        set->pack_transposed(turned.data(), k, o, cut, panels_of(o), parts.data());
        RC_ASSERT(packed == plain);
        RC_ASSERT(parts == plain);
      }
  }));
}

}  // namespace
}  // namespace rollcall::kernels
