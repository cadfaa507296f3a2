// The sign-flip test and Holm's correction.
#include "report/paired_tests.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace rollcall::report {
namespace {

constexpr std::size_t kEnumerated = 12;  // up to this many differences other than 0, all patterns
                                         // of signs are enumerated

/// [prompts] pass@k after - pass@k before
std::vector<double> differences(const std::vector<PromptOutcome>& before,
                                const std::vector<PromptOutcome>& after, std::int64_t k) {
  const auto pass = [k](const PromptOutcome& o) {
    return pass_at_k(
        std::int64_t(o.correct.size()),
        std::count_if(o.correct.begin(), o.correct.end(), [](std::uint8_t c) { return c != 0; }),
        k);
  };
  std::vector<double> gain;
  for (std::size_t i = 0; i < before.size(); ++i) gain.push_back(pass(after[i]) - pass(before[i]));
  return gain;
}

PairedTest test_of(std::string measure, const std::vector<double>& gain, std::int64_t draws,
                   std::uint64_t seed) {
  return {std::move(measure), std::accumulate(gain.begin(), gain.end(), 0.0) / double(gain.size()),
          sign_flip_p(gain, draws, seed), 1.0};
}

}  // namespace

double sign_flip_p(const std::vector<double>& differences, std::int64_t draws, std::uint64_t seed) {
  std::vector<double> moved;
  for (const double d : differences)
    if (d != 0.0) moved.push_back(d);
  // sums that differ only by rounding count as equal
  const double seen = std::abs(std::accumulate(moved.begin(), moved.end(), 0.0)) - 1e-12;
  const bool all = moved.size() <= kEnumerated;
  const std::uint64_t patterns =
      all ? std::uint64_t{1} << moved.size() : std::uint64_t(std::max<std::int64_t>(draws, 1));
  std::uint64_t as_large = 0;
  for (std::uint64_t pattern = 0; pattern < patterns; ++pattern) {
    const RandomStream stream(seed, RandomPurpose::bootstrap, pattern, 1);
    double sum = 0.0;
    for (std::size_t i = 0; i < moved.size(); ++i)
      sum += (all ? (pattern >> i & 1U) != 0 : stream.below(i, 2) != 0) ? moved[i] : -moved[i];
    as_large += std::abs(sum) >= seen ? 1 : 0;
  }
  return all ? double(as_large) / double(patterns) : double(as_large + 1) / double(patterns + 1);
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return p[a] < p[b]; });
  std::vector<double> corrected(p.size());
  double least = 0.0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    least = std::max(least, std::min(1.0, double(p.size() - rank) * p[order[rank]]));
    corrected[order[rank]] = least;
  }
  return corrected;
}

std::vector<PairedTest> paired_tests(const std::vector<PromptOutcome>& before,
                                     const std::vector<PromptOutcome>& after, std::int64_t k,
                                     std::int64_t draws, std::uint64_t seed) {
  require<InputError>(!before.empty() && before.size() == after.size(),
                      fmt::format("{} prompts before and {} after", before.size(), after.size()),
                      "a paired test needs the same prompts in the same order",
                      "evaluate both on one held-out set");
  const auto one = differences(before, after, 1);
  std::vector<PairedTest> tests{test_of("pass_at_1", one, draws, seed)};
  if (k > 1)
    tests.push_back(
        test_of(fmt::format("pass_at_{}", k), differences(before, after, k), draws, seed));
  std::map<std::int32_t, std::vector<double>> levels;
  for (std::size_t i = 0; i < before.size(); ++i) levels[before[i].level].push_back(one[i]);
  if (levels.size() > 1)
    for (const auto& [level, gain] : levels)
      tests.push_back(test_of(fmt::format("pass_at_1_level_{}", level), gain, draws, seed));
  std::vector<double> p;
  for (const auto& test : tests) p.push_back(test.p);
  const auto corrected = holm(p);
  for (std::size_t i = 0; i < tests.size(); ++i) tests[i].p_holm = corrected[i];
  return tests;
}

}  // namespace rollcall::report
