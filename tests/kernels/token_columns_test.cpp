// token_columns: against the reference and hand-worked numbers, same bits on every set and in any cut, extreme logits, backward as the derivative.
#include "operands.hpp"

#include <rapidcheck.h>

#include <limits>

namespace rollcall::kernels {
namespace {

struct Columns {
  Floats logprob, entropy, lse;
  explicit Columns(std::int64_t n) : logprob(static_cast<std::size_t>(n)), entropy(logprob), lse(logprob) {}
};

struct ColumnCase {
  std::int64_t n, v;
  float inverse_temperature = 1.25F;
  Floats logits, dlogprob, dentropy;
  std::vector<std::int32_t> target;

  ColumnCase(std::int64_t rows, std::int64_t vocabulary, unsigned seed, float spread = 2.0F)
      : n(rows),
        v(vocabulary),
        logits(random_floats(n * v, seed, spread)),
        dlogprob(random_floats(n, seed + 1)),
        dentropy(random_floats(n, seed + 2)),
        target(random_targets(n, v, seed + 3)) {}

  Columns forward(const KernelSet& set, std::int64_t first, std::int64_t rows) const {
    Columns c(rows);
    ExecutionContext context;
    set.token_columns(context, logits.data() + first * v, rows, v, inverse_temperature, target.data() + first, c.logprob.data(), c.entropy.data(),
                      c.lse.data());
    return c;
  }
  Floats backward(const KernelSet& set, const Columns& c) const {
    ExecutionContext context;
    Floats dlogits(logits.size());
    set.token_columns_backward(context, logits.data(), n, v, inverse_temperature, target.data(), c.lse.data(), c.entropy.data(), dlogprob.data(),
                               dentropy.data(), dlogits.data());
    return dlogits;
  }
};

TEST(TokenColumns, HandWorked) {
  // Logits (0, ln 3): p = (1/4, 3/4).
  ColumnCase c(3, 2, 1);
  c.inverse_temperature = 1.0F;
  c.logits = {0, std::log(3.0F), 0, std::log(3.0F), 0, std::log(3.0F)};
  c.target = {0, 1, -1};
  const float entropy = 0.25F * std::log(4.0F) + 0.75F * std::log(4.0F / 3.0F);
  for (const KernelSet* set : simd_sets()) {
    const Columns got = c.forward(*set, 0, 3);
    EXPECT_TRUE(near(got.logprob, {std::log(0.25F), std::log(0.75F), 0.0F}, 1e-6)) << set->name;
    EXPECT_TRUE(near(got.entropy, Floats(3, entropy), 1e-6)) << set->name;
    EXPECT_TRUE(near(got.lse, Floats(3, std::log(4.0F)), 1e-6)) << set->name;
  }
}

TEST(TokenColumns, AgreesWithReference) {
  for (const std::int64_t n : {1, 5})
    for (const std::int64_t v : {1, 2, 7, 16, 17, 33, 360, 1000})
      for (const float spread : {0.01F, 2.0F, 50.0F}) {
        const ColumnCase c(n, v, 3, spread);
        const Columns expected = c.forward(reference_kernels(), 0, n);
        for (const KernelSet* set : simd_sets()) {
          const Columns got = c.forward(*set, 0, n);
          ASSERT_TRUE(near(got.logprob, expected.logprob, 2e-6)) << set->name << v;
          ASSERT_TRUE(near(got.entropy, expected.entropy, 3e-6)) << set->name << v;
          ASSERT_TRUE(near(got.lse, expected.lse, 2e-6)) << set->name << v;
          // Probabilities come from the difference of logits up to 200 and lse, in fp32: 200 * 2^-23.
          ASSERT_TRUE(near(c.backward(*set, expected), c.backward(reference_kernels(), expected), 5e-5)) << set->name << v;
        }
      }
}

TEST(TokenColumns, SetsAreBitIdenticalAndRowsIndependent) {
  EXPECT_TRUE(rc::check([] {
    const ColumnCase c(*rc::gen::inRange(1, 12), *rc::gen::inRange(1, 90), *rc::gen::arbitrary<unsigned>(), *rc::gen::element(0.1F, 3.0F, 60.0F));
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n);
    const Columns plain = c.forward(scalar_kernels(), 0, c.n);
    for (const KernelSet* set : simd_sets()) {
      const Columns whole = c.forward(*set, 0, c.n), tail = c.forward(*set, cut, c.n - cut);
      RC_ASSERT(same_bits(whole.logprob, plain.logprob) && same_bits(whole.entropy, plain.entropy) && same_bits(whole.lse, plain.lse));
      RC_ASSERT(same_bits(Floats(whole.logprob.begin() + cut, whole.logprob.end()), tail.logprob));
      RC_ASSERT(same_bits(Floats(whole.entropy.begin() + cut, whole.entropy.end()), tail.entropy));
      RC_ASSERT(same_bits(c.backward(*set, plain), c.backward(scalar_kernels(), plain)));
    }
  }));
}

TEST(TokenColumns, BackwardMayOverwriteTheLogits) {
  ColumnCase c(4, 37, 5);
  for (const KernelSet* set : simd_sets()) {
    const Columns columns = c.forward(*set, 0, c.n);
    const Floats apart = c.backward(*set, columns);
    Floats in_place = c.logits;
    ExecutionContext context;
    set->token_columns_backward(context, in_place.data(), c.n, c.v, c.inverse_temperature, c.target.data(), columns.lse.data(), columns.entropy.data(),
                                c.dlogprob.data(), c.dentropy.data(), in_place.data());
    EXPECT_TRUE(same_bits(apart, in_place)) << set->name;
  }
}

TEST(TokenColumns, ExtremeLogits) {
  // A certain token, an impossible one and a masked one.
  ColumnCase c(3, 3, 1);
  c.inverse_temperature = 1.0F;
  const float masked = -std::numeric_limits<float>::infinity();
  c.logits = {30000.0F, -30000.0F, masked, 30000.0F, -30000.0F, masked, 1.0F, 1.0F, masked};
  c.target = {0, 1, 0};
  for (const KernelSet* set : simd_sets()) {
    const Columns got = c.forward(*set, 0, 3);
    EXPECT_TRUE(near(got.logprob, {0.0F, -60000.0F, -std::log(2.0F)}, 1e-6)) << set->name;
    EXPECT_TRUE(near(got.entropy, {0.0F, 0.0F, std::log(2.0F)}, 1e-6)) << set->name;
    for (const float value : c.backward(*set, got)) EXPECT_TRUE(std::isfinite(value)) << set->name;
  }
}

TEST(TokenColumns, NotANumberIsNotHidden) {
  for (const std::size_t place : {0UL, 15UL, 16UL, 36UL}) {
    ColumnCase c(1, 37, 1);
    c.target = {1};
    c.logits[place] = std::numeric_limits<float>::quiet_NaN();
    for (const KernelSet* set : simd_sets()) {
      const Columns got = c.forward(*set, 0, 1);
      EXPECT_TRUE(std::isnan(got.logprob[0]) && std::isnan(got.entropy[0]) && std::isnan(got.lse[0])) << set->name << place;
    }
  }
}

TEST(TokenColumns, ReferenceBackwardIsTheDerivative) {
  ColumnCase c(3, 6, 4);
  c.target = {2, -1, 5};
  const Columns columns = c.forward(reference_kernels(), 0, c.n);
  const Floats gradient = c.backward(reference_kernels(), columns);
  const auto loss = [&] {
    const Columns now = c.forward(reference_kernels(), 0, c.n);
    double sum = 0.0;
    for (std::size_t i = 0; i < now.logprob.size(); ++i)
      sum += static_cast<double>(now.logprob[i]) * c.dlogprob[i] + static_cast<double>(now.entropy[i]) * c.dentropy[i];
    return sum;
  };
  for (std::size_t at = 0; at < c.logits.size(); ++at) {
    const float kept = c.logits[at], step = 1e-2F;
    c.logits[at] = kept + step;
    const double up = loss();
    c.logits[at] = kept - step;
    const double down = loss();
    c.logits[at] = kept;
    EXPECT_NEAR(gradient[at], (up - down) / (2.0 * step), 1e-3) << at;  // central difference: error of order step^2
  }
}

}  // namespace
}  // namespace rollcall::kernels
