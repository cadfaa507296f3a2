// One draw: the distribution, top-k, top-p, greedy.
#include "model/decode/sampling.hpp"

#include "base/numbers/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string_view>

namespace rollcall::model {
namespace {

const std::vector<float> kLogits = {0.5F, 2.0F, -1.0F, 2.0F, 0.0F, -30.0F};

/// Draws from rows of logits with all that token_columns tells of them.
class PendingSample {
 public:
  explicit PendingSample(const SamplingParams& params, std::vector<float> logits = kLogits,
                         const kernels::KernelSet& kernels = kernels::selected_kernels())
      : logits_(std::move(logits)),
        e_(logits_.size()),
        blocks_(std::size_t(kernels::vocabulary_blocks(std::int64_t(logits_.size()))) + 1),
        sampler_(params, std::int64_t(logits_.size()), kernels) {
    const std::int32_t none = -1;
    float column[3];
    const float scale = params.temperature > 0.0 ? float(1.0 / params.temperature) : 1.0F;
    kernels.token_columns(context_, logits_.data(), 1, std::int64_t(logits_.size()), scale, &none,
                          column, column + 1, column + 2, blocks_.data(), e_.data());
    sampler_.read({logits_.data(), blocks_.data(), e_.data()});
  }
  std::int32_t draw(double u) { return sampler_.draw(u); }
  double kept_mass() const { return sampler_.kept_mass(); }
  std::vector<std::int32_t> kept_ids() { return sampler_.kept_ids(); }

 private:
  kernels::ExecutionContext context_;
  std::vector<float> logits_, e_;
  std::vector<kernels::BlockMass> blocks_;
  TokenSampler sampler_;
};

double lse_of(double scale) {
  double sum = 0.0;
  for (const float z : kLogits) sum += std::exp(double(z) * scale);
  return std::log(sum);
}

std::vector<std::int64_t> histogram(const SamplingParams& params, std::int64_t draws) {
  PendingSample drawing(params);
  const RandomStream stream(9, RandomPurpose::test);
  std::vector<std::int64_t> counts(kLogits.size());
  for (std::int64_t i = 0; i < draws; ++i)
    ++counts[std::size_t(drawing.draw(stream.uniform(std::uint64_t(i))))];
  return counts;
}

/// Pearson's statistic against probabilities proportional to exp(logit / temperature) over `kept`.
double chi_square(const std::vector<std::int64_t>& counts, const std::set<std::size_t>& kept,
                  double temperature) {
  double total = 0.0, mass = 0.0, statistic = 0.0;
  for (const std::int64_t count : counts) total += double(count);
  for (const std::size_t token : kept) mass += std::exp(double(kLogits[token]) / temperature);
  for (const std::size_t token : kept) {
    const double expected = total * std::exp(double(kLogits[token]) / temperature) / mass;
    statistic += std::pow(double(counts[token]) - expected, 2) / expected;
  }
  return statistic;
}

// 99.9 % quantiles of chi-square with 4, 2 and 1 degrees of freedom
constexpr double kCritical4 = 18.47, kCritical2 = 13.82, kCritical1 = 10.83;

TEST(Sampling, DrawsFollowTheSoftmaxAtTheTemperature) {
  for (const double temperature : {0.5, 1.0, 2.0}) {
    const auto counts = histogram({.temperature = temperature}, 100000);
    EXPECT_LT(chi_square(counts, {0, 1, 2, 3, 4}, temperature), kCritical4) << temperature;
  }
}

TEST(Sampling, TopKKeepsTheKMostProbableAndTheirProportions) {
  const auto counts = histogram({.temperature = 0.7, .top_k = 3}, 100000);
  EXPECT_EQ(counts[2] + counts[4] + counts[5], 0);
  EXPECT_LT(chi_square(counts, {0, 1, 3}, 0.7), kCritical2);
  const auto tie = histogram({.temperature = 1.0, .top_k = 1}, 100);  // of equals, the lower token
  EXPECT_EQ(tie[1], 100);
}

TEST(Sampling, TopPKeepsTheSmallestSetThatReachesTheShare) {
  // Probabilities at temperature 1: 0.3966 (twice), 0.0885, 0.0537, 0.0197: two tokens hold 0.7932,
  // three 0.8817... and so on.
  const double two = 2.0 * std::exp(2.0 - lse_of(1.0));
  const auto at_two = histogram({.top_p = two - 0.01}, 100000);
  EXPECT_EQ(at_two[0] + at_two[2] + at_two[4] + at_two[5], 0);
  EXPECT_LT(chi_square(at_two, {1, 3}, 1.0), kCritical1);
  const auto at_three = histogram({.top_p = two + 0.01}, 100000);
  EXPECT_EQ(at_three[2] + at_three[4] + at_three[5], 0);
  EXPECT_LT(chi_square(at_three, {0, 1, 3}, 1.0), kCritical2);
  EXPECT_EQ(histogram({.top_p = 1e-9}, 100)[1], 100);
}

TEST(Sampling, TopPCountsSharesOfWhatTopKKept) {
  // Of three kept tokens the first two hold 0.8997, so a share of 0.85 needs no third.
  const auto counts = histogram({.top_k = 3, .top_p = 0.85}, 10000);
  EXPECT_EQ(counts[0], 0);
  EXPECT_GT(histogram({.top_k = 0, .top_p = 0.85}, 10000)[0], 0);
}

/// Of weights 8, 4, 2 and 1, whose powers of 1 / temperature are (19.504218, 7.245789, 2.691800, 1)
/// at 0.7 and (4.950905, 2.904846, 1.704361, 1) at 1.3.
TEST(Sampling, KeptMassIsTheProbabilityOfWhatIsLeftInTheFullSoftmax) {
  struct Case {
    SamplingParams params;
    double mass;
    std::vector<std::int32_t> ids;
  };
  const std::vector<Case> cases{
      {{.top_k = 2}, 12.0 / 15.0, {1, 3}},
      {{.top_p = 0.75}, 12.0 / 15.0, {1, 3}},
      {{.top_p = 0.85}, 14.0 / 15.0, {0, 1, 3}},
      {{.top_k = 3, .top_p = 0.85}, 12.0 / 15.0, {1, 3}},  // of 14 fifteenths 0.85 are 0.793
      {{.top_k = 3, .top_p = 0.9}, 14.0 / 15.0, {0, 1, 3}},
      {{.top_k = 1, .top_p = 0.1}, 8.0 / 15.0, {3}},
      {{.temperature = 0.7, .top_k = 1}, 19.504218 / 30.441808, {3}},
      {{.temperature = 0.7, .top_p = 0.6}, 19.504218 / 30.441808, {3}},
      {{.temperature = 0.7, .top_p = 0.7}, 26.750008 / 30.441808, {1, 3}},
      {{.temperature = 1.3, .top_k = 2}, 7.855751 / 10.560112, {1, 3}},
      // 0.8 of 9.560112 is 7.648
      {{.temperature = 1.3, .top_k = 3, .top_p = 0.8}, 7.855751 / 10.560112, {1, 3}},
      {{.temperature = 1.3, .top_p = 0.75}, 9.560112 / 10.560112, {0, 1, 3}},
      {{.top_k = 1, .vocab_size = 3}, 4.0 / 15.0, {1}},  // the likeliest is none of the tokenizer's
  };
  const std::vector<float> logits{std::log(2.0F), std::log(4.0F), 0.0F, std::log(8.0F)};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    PendingSample drawing(cases[c].params, logits);
    EXPECT_NEAR(drawing.kept_mass(), cases[c].mass, 1e-6) << c;
    EXPECT_EQ(drawing.kept_ids(), cases[c].ids) << c;
  }
  EXPECT_EQ(PendingSample({.top_k = 2}, {1.0F, 1.0F, 1.0F, 1.0F}).kept_ids(),
            (std::vector<std::int32_t>{0, 1}))
      << "of equals, the lower ids";
}

TEST(Sampling, GreedyTakesTheFirstOfTheHighest) {
  EXPECT_EQ(PendingSample({.temperature = 0.0}).draw(0.999), 1);
}

TEST(Sampling, IdsBeyondTheTokenizersAreNeverDrawn) {
  // The model has six ids, the tokenizer three: of what is left, each keeps its share.
  for (const double temperature : {0.5, 1.0, 2.0}) {
    const auto counts = histogram({.temperature = temperature, .vocab_size = 3}, 100000);
    EXPECT_EQ(counts[3] + counts[4] + counts[5], 0);
    EXPECT_LT(chi_square(counts, {0, 1, 2}, temperature), kCritical2) << temperature;
  }
  const auto top = histogram({.top_k = 2, .vocab_size = 3}, 100000);
  EXPECT_EQ(top[2] + top[3] + top[4] + top[5], 0);
  EXPECT_LT(chi_square(top, {0, 1}, 1.0), kCritical1);
  EXPECT_EQ(PendingSample({.temperature = 0.0, .vocab_size = 1}).draw(0.5), 0);
}

TEST(Sampling, TheLastUnitOfUStaysInsideTheVocabulary) {
  EXPECT_LT(PendingSample({}).draw(0x1.fffffffffffffp-1), 6);
  // the last one has no probability
  EXPECT_EQ(PendingSample({}, {0.0F, 0.0F, -200.0F}).draw(0x1.fffffffffffffp-1), 1);
}

TEST(Sampling, NotANumberEndsADraw) {
  for (const std::size_t place : {0UL, 1500UL, 2999UL}) {
    auto logits = std::vector<float>(3000, 0.5F);
    logits[place] = std::numeric_limits<float>::quiet_NaN();
    for (const SamplingParams& params :
         {SamplingParams{}, SamplingParams{.top_p = 0.9}, SamplingParams{.top_k = 5},
          SamplingParams{.top_p = 0.9, .vocab_size = 2900}}) {
      const std::int32_t token = PendingSample(params, logits).draw(0.5);
      EXPECT_TRUE(token >= 0 && token < 3000);
    }
  }
}

/// A draw by plain loops in double: tokens in order of probability, the kept ones in the order in
/// which the sampler walks them.
class Plain {
 public:
  Plain(const SamplingParams& params, const std::vector<float>& logits) {
    const auto size = params.vocab_size > 0 ? std::size_t(params.vocab_size) : logits.size();
    const double scale = double(float(1.0 / params.temperature)),
                 top = *std::max_element(logits.begin(), logits.begin() + std::ptrdiff_t(size));
    for (std::size_t t = 0; t < size; ++t)
      probability_.push_back(
          std::exp(double(float(logits[t] * float(scale))) - double(float(top * scale))));
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
    const std::size_t k = params.top_k > 0 ? std::min(size, std::size_t(params.top_k)) : size;
    double all = 0.0;
    for (std::size_t rank = 0; rank < k; ++rank) all += probability_[order[rank]];
    for (std::size_t rank = 0; rank < k && (kept_.empty() || mass_ < params.top_p * all); ++rank)
      kept_.insert(order[rank]), mass_ += probability_[order[rank]];
  }
  const std::set<std::size_t>& kept() const { return kept_; }
  double kept_mass(const std::vector<float>& logits, double temperature) const {
    double kept = 0.0, all = 0.0;
    for (std::size_t t = 0; t < logits.size(); ++t) {
      const double weight = std::exp((double(logits[t]) - 4.0) / temperature);
      all += weight, kept += kept_.contains(t) ? weight : 0.0;
    }
    return kept / all;
  }
  double share(std::size_t token) const {
    return kept_.contains(token) ? probability_[token] / mass_ : 0.0;
  }

 private:
  std::vector<double> probability_;
  std::set<std::size_t> kept_;
  double mass_ = 0.0;
};

std::vector<float> random_logits(std::size_t count, float spread, bool tied, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  std::vector<float> logits(count);
  for (float& z : logits) z = tied ? std::round(normal(engine)) : normal(engine);
  return logits;
}

/// Vocabularies of one block, of several and of a cut one; flat and steep; many equals: a grid over
/// u lands on every kept token, and on no other, as often as its share says.
TEST(Sampling, KeepsAndWeighsWhatSortingKeeps) {
  struct Case {
    std::size_t vocab;
    float spread;
    bool tied;
    SamplingParams params;
  };
  const std::vector<Case> cases{{37, 2, false, {.top_p = 0.9}},
                                {5000, 0.5, false, {.top_p = 0.95}},
                                {5000, 3, false, {.temperature = 0.7, .top_p = 0.8}},
                                {5000, 1, true, {.top_p = 0.5}},
                                {2048, 1, true, {.top_k = 300}},
                                {3000, 2, false, {.top_k = 40}},
                                {3000, 2, false, {.top_k = 700, .top_p = 0.6}},
                                {3000, 1, false, {.top_p = 0.9, .vocab_size = 2500}},
                                {3000, 1, false, {.vocab_size = 1500}},
                                {4000, 1, false, {}},
                                {1500, 0, true, {.top_p = 0.5}},
                                {1500, 0, true, {.top_k = 1000}}};
  for (std::size_t c = 0; c < cases.size(); ++c) {
    auto logits = random_logits(cases[c].vocab, cases[c].spread, cases[c].tied, unsigned(c));
    // the largest of its block, and of no token
    if (cases[c].params.vocab_size > 0) logits.back() = 8.0F;
    const Plain plain(cases[c].params, logits);
    PendingSample drawing(cases[c].params, logits);
    constexpr std::int64_t grid = 20000;
    std::vector<double> seen(logits.size());
    for (std::int64_t i = 0; i < grid; ++i)
      seen[std::size_t(drawing.draw((double(i) + 0.5) / double(grid)))] += 1.0 / double(grid);
    // A share is a stretch of the unit interval, which the grid hits to within one point. Sums are
    // in fp32, so a token at the nucleus's edge may be another.
    std::size_t others = 0;
    for (std::size_t t = 0; t < seen.size(); ++t) {
      others += seen[t] > 0.0 && !plain.kept().contains(t) ? 1U : 0U;
      if (!plain.kept().contains(t)) continue;
      ASSERT_NEAR(seen[t], plain.share(t), 1.01 / double(grid) + 2e-6)
          << "case " << c << " token " << t;
    }
    if (cases[c].params.top_k > 0 || cases[c].params.top_p < 1.0) {
      const auto ids = drawing.kept_ids();
      std::set<std::size_t> apart;  // from what sorting keeps: at most the one at the edge
      std::set_symmetric_difference(ids.begin(), ids.end(), plain.kept().begin(),
                                    plain.kept().end(), std::inserter(apart, apart.end()));
      EXPECT_LE(apart.size(), cases[c].tied || cases[c].params.top_p == 1.0 ? 0U : 1U)
          << "case " << c;
      EXPECT_NEAR(drawing.kept_mass(), plain.kept_mass(logits, cases[c].params.temperature), 1e-3)
          << "case " << c;
      for (std::size_t t = 0; t < seen.size(); ++t)
        EXPECT_TRUE(seen[t] == 0.0 || std::binary_search(ids.begin(), ids.end(), std::int32_t(t)))
            << t;
    }
    EXPECT_LE(others, cases[c].tied || cases[c].params.top_p == 1.0 ? 0U : 1U) << "case " << c;
  }
}

/// The sets draw the same tokens.
TEST(Sampling, EverySetDrawsTheSame) {
  const auto logits = random_logits(5000, 1.5F, false, 3);
  for (const SamplingParams& params :
       {SamplingParams{}, SamplingParams{.top_p = 0.9}, SamplingParams{.top_k = 100},
        SamplingParams{.temperature = 0.0}}) {
    PendingSample plain(params, logits, kernels::scalar_kernels());
    for (const char* name : {"avx2", "avx512"}) {
      const auto* kernels = kernels::kernels_by_name(name);
      if (kernels == nullptr) continue;
      PendingSample drawing(params, logits, *kernels);
      if (params.top_p < 1.0 || params.top_k > 0) {
        EXPECT_EQ(drawing.kept_ids(), plain.kept_ids()) << name;
        EXPECT_EQ(drawing.kept_mass(), plain.kept_mass()) << name;
      }
      for (int i = 0; i < 300; ++i)
        ASSERT_EQ(drawing.draw(double(i) / 300.0), plain.draw(double(i) / 300.0)) << name;
    }
  }
}

}  // namespace
}  // namespace rollcall::model
