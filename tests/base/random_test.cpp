// Addressed random numbers: published Philox vectors, the address rebuilt by hand, moments,
// independence.
#include "base/numbers/random.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numbers>
#include <set>
#include <vector>

namespace rollcall {
namespace {

using Block = std::array<std::uint32_t, 4>;

/// Philox4x32-10 as published (Salmon et al. 2011, section 3.3), written a second time.
Block philox4x32_10(Block c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
    c = {std::uint32_t(b >> 32) ^ c[1] ^ k[0], std::uint32_t(b),
         std::uint32_t(a >> 32) ^ c[3] ^ k[1], std::uint32_t(a)};
    k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
  }
  return c;
}

TEST(Random, OurPhiloxIsThePublishedOne) {  // known answers of the Random123 distribution
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::array<std::uint64_t, 2> wide(std::uint64_t key, std::uint64_t high, std::uint64_t low) {
  const Block r = philox4x32_10({std::uint32_t(low), std::uint32_t(low >> 32), std::uint32_t(high),
                                 std::uint32_t(high >> 32)},
                                {std::uint32_t(key), std::uint32_t(key >> 32)});
  return {r[0] | std::uint64_t{r[1]} << 32, r[2] | std::uint64_t{r[3]} << 32};
}

RC_GTEST_PROP(Random, AStreamIsPhiloxAtItsAddress,
              (std::uint64_t seed, std::uint64_t step, std::uint64_t prompt, std::uint64_t sample,
               std::uint64_t index)) {
  const auto first = wide(seed, std::uint64_t(RandomPurpose::sampling), step);
  const auto second = wide(first[0], first[1] ^ prompt, sample);
  RC_ASSERT(RandomStream(seed, RandomPurpose::sampling, step, prompt, sample).bits(index) ==
            wide(second[0], second[1], index)[0]);
}

TEST(Random, Pinned) {  // a change gives every seed another run, so it must be meant
  EXPECT_EQ(RandomStream(1, RandomPurpose::test).bits(0), 8176303521856893990U);
}

TEST(Random, EveryPartOfTheAddressMatters) {
  std::set<std::uint64_t> seen;
  std::size_t streams = 0;
  for (int purpose = 1; purpose <= 8; ++purpose) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      for (std::uint64_t a = 0; a < 4; ++a) {
        for (std::uint64_t b = 0; b < 4; ++b) {
          for (std::uint64_t c = 0; c < 4; ++c, ++streams) {
            const RandomStream s(seed, RandomPurpose(purpose), a, b, c);
            for (std::uint64_t index = 0; index < 4; ++index) seen.insert(s.bits(index));
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 4 * streams);
}

TEST(Random, PurposesAreUncorrelated) {
  const RandomStream a(1, RandomPurpose::task), b(1, RandomPurpose::init);
  double sum = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) sum += (a.uniform(i) - 0.5) * (b.uniform(i) - 0.5);
  // correlation; five standard deviations
  EXPECT_LT(std::abs(sum / 100000 * 12), 5 / std::sqrt(100000.0));
}

struct Moments {
  double mean = 0, variance = 0, skewness = 0, kurtosis = 0;
};

template <class Draw>
Moments moments_of(Draw draw, int n) {
  Moments m;
  for (int i = 0; i < n; ++i) m.mean += draw(std::uint64_t(i)) / n;
  for (int i = 0; i < n; ++i) {
    const double d = draw(std::uint64_t(i)) - m.mean;
    m.variance += d * d / n, m.skewness += d * d * d / n, m.kurtosis += d * d * d * d / n;
  }
  m.skewness /= std::pow(m.variance, 1.5), m.kurtosis /= m.variance * m.variance;
  return m;
}

TEST(Random, UniformMoments) {
  const RandomStream s(2, RandomPurpose::test);
  const Moments m = moments_of([&](std::uint64_t i) { return s.uniform(i); }, 200000);
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1 / 12.0 / 200000));
  EXPECT_NEAR(m.variance, 1 / 12.0, 5 * std::sqrt(1 / 180.0 / 200000));  // var((u - 1/2)^2) = 1/180
  EXPECT_NEAR(m.kurtosis, 1.8, 0.02);
}

TEST(Random, NormalMoments) {
  const RandomStream s(3, RandomPurpose::test);
  const Moments m = moments_of([&](std::uint64_t i) { return s.normal(i); }, 200000);
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(1 / 200000.0));
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2 / 200000.0));
  EXPECT_NEAR(m.skewness, 0, 5 * std::sqrt(6 / 200000.0));
  EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24 / 200000.0));
}

RC_GTEST_PROP(Random, ValuesStayInTheirRanges, (std::uint64_t seed, std::uint64_t index)) {
  const RandomStream s(seed, RandomPurpose::test);
  const double u = s.uniform(index);
  RC_ASSERT(u >= 0 && u < 1);
  RC_ASSERT(std::isfinite(s.normal(index)));
  const auto n = *rc::gen::suchThat(rc::gen::arbitrary<std::uint64_t>(),
                                    [](std::uint64_t v) { return v > 0; });
  RC_ASSERT(s.below(index, n) < n);
  RC_ASSERT(s.below(index, 1) == 0);
}

TEST(Random, BelowIsUniform) {
  const RandomStream s(4, RandomPurpose::test);
  std::vector<double> count(10);
  for (std::uint64_t i = 0; i < 100000; ++i) ++count[s.below(i, 10)];
  double chi2 = 0;
  for (const double c : count) chi2 += (c - 10000) * (c - 10000) / 10000;
  EXPECT_LT(chi2, 33.7);  // 1 - 1e-4 quantile of chi-squared with 9 degrees of freedom
}

}  // namespace
}  // namespace rollcall
