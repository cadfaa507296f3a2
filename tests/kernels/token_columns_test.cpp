// token_columns: against the reference and hand-worked numbers, same bits on every set and in any
// cut, extreme logits, backward as the derivative.
#include "operands.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace rollcall::kernels {
namespace {

struct Columns {
  Floats logprob, entropy, lse;
  explicit Columns(std::int64_t n)
      : logprob(static_cast<std::size_t>(n)), entropy(logprob), lse(logprob) {}
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
    set.token_columns(context, logits.data() + first * v, rows, v, inverse_temperature,
                      target.data() + first, c.logprob.data(), c.entropy.data(), c.lse.data(),
                      nullptr, nullptr);
    return c;
  }
  Floats backward(const KernelSet& set, const Columns& c) const {
    ExecutionContext context;
    Floats dlogits(logits.size());
    set.token_columns_backward(context, logits.data(), n, v, inverse_temperature, target.data(),
                               c.lse.data(), c.entropy.data(), dlogprob.data(), dentropy.data(),
                               dlogits.data());
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
  for (const KernelSet* set : every_set()) {
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
        for (const KernelSet* set : every_set()) {
          const Columns got = c.forward(*set, 0, n);
          ASSERT_TRUE(near(got.logprob, expected.logprob, 2e-6)) << set->name << v;
          ASSERT_TRUE(near(got.entropy, expected.entropy, 3e-6)) << set->name << v;
          ASSERT_TRUE(near(got.lse, expected.lse, 2e-6)) << set->name << v;
          // Probabilities come from the difference of logits up to 200 and lse, in fp32: 200 *
          // 2^-23.
          ASSERT_TRUE(
              near(c.backward(*set, expected), c.backward(reference_kernels(), expected), 5e-5))
              << set->name << v;
        }
      }
}

TEST(TokenColumns, SetsAreBitIdenticalAndRowsIndependent) {
  EXPECT_TRUE(rc::check([] {
    const ColumnCase c(*rc::gen::inRange(1, 12), *rc::gen::inRange(1, 90),
                       *rc::gen::arbitrary<unsigned>(), *rc::gen::element(0.1F, 3.0F, 60.0F));
    const std::int64_t cut = *rc::gen::inRange<std::int64_t>(0, c.n);
    const Columns plain = c.forward(plain_set(), 0, c.n);
    for (const KernelSet* set : every_set()) {
      const Columns whole = c.forward(*set, 0, c.n), tail = c.forward(*set, cut, c.n - cut);
      RC_ASSERT(same_bits(whole.logprob, plain.logprob) &&
                same_bits(whole.entropy, plain.entropy) && same_bits(whole.lse, plain.lse));
      RC_ASSERT(same_bits(Floats(whole.logprob.begin() + cut, whole.logprob.end()), tail.logprob));
      RC_ASSERT(same_bits(Floats(whole.entropy.begin() + cut, whole.entropy.end()), tail.entropy));
      RC_ASSERT(same_bits(c.backward(*set, plain), c.backward(plain_set(), plain)));
    }
  }));
}

TEST(TokenColumns, BackwardMayOverwriteTheLogits) {
  ColumnCase c(4, 37, 5);
  for (const KernelSet* set : every_set()) {
    const Columns columns = c.forward(*set, 0, c.n);
    const Floats apart = c.backward(*set, columns);
    Floats in_place = c.logits;
    ExecutionContext context;
    set->token_columns_backward(context, in_place.data(), c.n, c.v, c.inverse_temperature,
                                c.target.data(), columns.lse.data(), columns.entropy.data(),
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
  for (const KernelSet* set : every_set()) {
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
    for (const KernelSet* set : every_set()) {
      const Columns got = c.forward(*set, 0, 1);
      EXPECT_TRUE(std::isnan(got.logprob[0]) && std::isnan(got.entropy[0]) &&
                  std::isnan(got.lse[0]))
          << set->name << place;
    }
  }
}

TEST(TokenColumns, ReferenceBackwardIsTheDerivative) {
  ColumnCase c(3, 6, 4);
  c.target = {2, -1, 5};
  c.dlogprob[1] = 0.0F;  // of what is no column
  const Columns columns = c.forward(reference_kernels(), 0, c.n);
  const Floats gradient = c.backward(reference_kernels(), columns);
  const auto loss = [&] {
    const Columns now = c.forward(reference_kernels(), 0, c.n);
    double sum = 0.0;
    for (std::size_t i = 0; i < now.logprob.size(); ++i)
      sum += static_cast<double>(now.logprob[i]) * c.dlogprob[i] +
             static_cast<double>(now.entropy[i]) * c.dentropy[i];
    return sum;
  };
  for (std::size_t at = 0; at < c.logits.size(); ++at) {
    const float kept = c.logits[at], step = 1e-2F;
    c.logits[at] = kept + step;
    const double up = loss();
    c.logits[at] = kept - step;
    const double down = loss();
    c.logits[at] = kept;
    // central difference: error of order step^2
    EXPECT_NEAR(gradient[at], (up - down) / (2.0 * step), 1e-3) << at;
  }
}

struct Blocks {
  Floats largest, sum, e;
};

Blocks blocks_of(const KernelSet& set, const ColumnCase& c) {
  const std::int64_t entries = c.n * (vocabulary_blocks(c.v) + 1);
  std::vector<BlockMass> blocks(static_cast<std::size_t>(entries));
  Columns unused(c.n);
  Blocks made;
  if (kGivesExponentials) made.e.resize(c.logits.size());
  ExecutionContext context;
  set.token_columns(context, c.logits.data(), c.n, c.v, c.inverse_temperature, c.target.data(),
                    unused.logprob.data(), unused.entropy.data(), unused.lse.data(), blocks.data(),
                    kGivesExponentials ? made.e.data() : nullptr);
  for (const BlockMass& block : blocks)
    made.largest.push_back(block.largest), made.sum.push_back(block.sum);
  return made;
}

TEST(TokenColumns, BlocksAgreeWithReferenceAndAcrossSets) {
  for (const std::int64_t v : {1, 37, 1023, 1024, 1025, 3000})
    for (const float spread : {0.1F, 3.0F, 60.0F}) {
      const ColumnCase c(3, v, 7, spread);
      const Blocks expected = blocks_of(reference_kernels(), c), plain = blocks_of(plain_set(), c);
      const Columns reference = c.forward(reference_kernels(), 0, c.n);
      for (const KernelSet* set : every_set()) {
        const Blocks got = blocks_of(*set, c);
        ASSERT_TRUE(near(got.largest, expected.largest, 1e-6) && near(got.sum, expected.sum, 2e-6))
            << set->name << v;
        // logits up to 200: 200 * 2^-24
        ASSERT_TRUE(near(got.e, expected.e, 1e-5)) << set->name << v;
        ASSERT_TRUE(same_bits(got.largest, plain.largest) && same_bits(got.sum, plain.sum) &&
                    same_bits(got.e, plain.e))
            << set->name << v;
        const Columns columns = c.forward(*set, 0, c.n);
        ASSERT_TRUE(near(columns.logprob, reference.logprob, 3e-6) &&
                    near(columns.entropy, reference.entropy, 5e-6))
            << set->name << v;
        ASSERT_TRUE(same_bits(columns.entropy, c.forward(plain_set(), 0, c.n).entropy))
            << set->name << v;
        // What a draw makes of the row's last entry is the log-prob of the columns.
        for (std::int64_t i = 0; i < c.n; ++i) {
          const auto row = static_cast<std::size_t>((i + 1) * (vocabulary_blocks(v) + 1) - 1),
                     at = static_cast<std::size_t>(i);
          if (c.target[at] < 0) continue;
          EXPECT_EQ(
              c.logits[static_cast<std::size_t>(i * v + c.target[at])] * c.inverse_temperature -
                  got.largest[row] - got.sum[row],
              columns.logprob[at]);
        }
      }
    }
}

TEST(TokenColumns, WideColumnsAgreeWithReferenceAndAcrossSets) {
  for (const std::int64_t v : {1, 5, 100, 1500}) {
    const ColumnCase p(4, v, 11, 2.0F), q(4, v, 12, 2.0F);
    const Floats lse = p.forward(reference_kernels(), 0, 4).lse,
                 other = q.forward(reference_kernels(), 0, 4).lse;
    const auto wide = [&](const KernelSet& set, const float* second) {
      ExecutionContext context;
      Floats both(8);
      set.wide_columns(context, p.logits.data(), second, 4, v, p.inverse_temperature, lse.data(),
                       other.data(), both.data(), both.data() + 4);
      return both;
    };
    const Floats expected = wide(reference_kernels(), q.logits.data()),
                 plain = wide(plain_set(), q.logits.data());
    for (const KernelSet* set : every_set()) {
      EXPECT_TRUE(near(wide(*set, q.logits.data()), expected, 1e-5)) << set->name << v;
      EXPECT_TRUE(same_bits(wide(*set, q.logits.data()), plain)) << set->name << v;
      EXPECT_EQ(wide(*set, nullptr)[4], 0.0F) << "nothing is written without a second model";
    }
  }
  // Two tokens of 1/4 and 3/4 against 1/2 and 1/2: squares 10/16, KL = ln 2 - H = 1/4 ln(1/2) + 3/4
  // ln(3/2). A token that neither has adds nothing.
  const float masked = -std::numeric_limits<float>::infinity();
  const Floats p{0, std::log(3.0F), masked}, q{1, 1, masked}, lse{std::log(4.0F)},
      other{1 + std::log(2.0F)};
  for (const KernelSet* set : every_set()) {
    ExecutionContext context;
    float squares = 0, kl = 0;
    set->wide_columns(context, p.data(), q.data(), 1, 3, 1.0F, lse.data(), other.data(), &squares,
                      &kl);
    EXPECT_NEAR(squares, 0.625, 1e-6);
    EXPECT_NEAR(kl, 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-6);
  }
}

#ifndef ROLLCALL_DEVICE_TESTS  // what follows is asked of hosts only
TEST(TokenColumns, WhatADrawAsksForAgreesAcrossSets) {
  EXPECT_TRUE(rc::check([] {
    const auto v = *rc::gen::inRange<std::int64_t>(1, 2500);
    const Floats logits = random_floats(v, *rc::gen::arbitrary<unsigned>(), 2.0F);
    const float largest = *std::max_element(logits.begin(), logits.end()) * 0.8F;
    const auto exponentials = [&](const KernelSet& set) {
      ExecutionContext context;
      Floats e(logits.size());
      set.exponentials(context, logits.data(), v, 0.8F, largest, e.data());
      return e;
    };
    const Floats e = exponentials(plain_set());
    RC_ASSERT(near(e, exponentials(reference_kernels()), 1e-6));
    const float low = e[*rc::gen::inRange<std::size_t>(0, e.size())],
                high = e[*rc::gen::inRange<std::size_t>(0, e.size())];
    Floats factor(static_cast<std::size_t>(vocabulary_blocks(v)), 1.0F);
    factor.back() = 0.7F;
    const auto counted = [&](const KernelSet& set) {
      ExecutionContext context;
      Floats sums(static_cast<std::size_t>(vocabulary_blocks(v)));
      std::vector<std::int32_t> places(e.size());
      const float least[kThresholds] = {low, high, 0.0F, 2.0F};
      std::vector<double> mass(kThresholds), number(kThresholds);
      set.sums_from(context, e.data(), factor.data(), v, least, false, mass.data());
      set.sums_from(context, e.data(), factor.data(), v, least, true, number.data());
      places.resize(static_cast<std::size_t>(set.places_between(
          context, e.data(), factor.data(), v, low, high, sums.data(), places.data())));
      return std::tuple(number, sums, places, mass);
    };
    const auto [number, sums, places, mass] = counted(reference_kernels());
    const auto plain = counted(plain_set());
    for (const KernelSet* set : every_set()) {
      const auto [numbered, by_block, found, total] = counted(*set);
      RC_ASSERT(same_bits(exponentials(*set), e));
      RC_ASSERT(numbered == number && found == places && near(by_block, sums, 1e-5) &&
                same_bits(by_block, std::get<1>(plain)));
      RC_ASSERT(total == std::get<3>(plain) && total[3] == 0.0 &&
                std::abs(total[0] - mass[0]) < 1e-5 * (1.0 + mass[0]));
    }
  }));
}
#endif

}  // namespace
}  // namespace rollcall::kernels
