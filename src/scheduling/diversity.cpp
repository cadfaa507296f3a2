// n-grams of a group in sorted order, counted by answer.
#include "scheduling/diversity.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace rollcall::scheduling {
namespace {

constexpr std::size_t kOrders = 3;
constexpr double kNoMatch = 0.1;  // method 1 of Chen and Cherry 2014: number of n-grams that
                                  // replaces a share of 0

using Answers = std::span<const std::vector<std::int32_t>>;

struct Gram {
  std::array<std::int32_t, kOrders> tokens{};
  std::size_t answer = 0;
  auto operator<=>(const Gram&) const = default;
};

/// All n-grams of the group, sorted so that equal ones are adjacent and ordered by answer.
std::vector<Gram> grams_of(Answers answers, std::size_t n) {
  std::vector<Gram> grams;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    for (std::size_t place = 0; place + n <= answers[i].size(); ++place) {
      Gram& gram = grams.emplace_back();
      std::copy_n(answers[i].begin() + std::ptrdiff_t(place), n, gram.tokens.begin());
      gram.answer = i;
    }
  }
  std::sort(grams.begin(), grams.end());
  return grams;
}

/// Calls f(first, last) for each run of equal n-grams.
template <class F>
void each_gram(const std::vector<Gram>& grams, const F& f) {
  for (auto first = grams.begin(); first != grams.end();) {
    const auto last = std::find_if(first, grams.end(),
                                   [&](const Gram& gram) { return gram.tokens != first->tokens; });
    f(first, last);
    first = last;
  }
}

/// [answers] number of each answer's n-grams that another answer has. An n-gram counts at most as
/// often as in the other answer in which it is most frequent.
std::vector<double> matches(const std::vector<Gram>& grams, std::size_t answers) {
  std::vector<double> found(answers, 0.0);
  each_gram(grams, [&](auto first, auto last) {
    std::vector<std::pair<std::int64_t, std::size_t>> counts;  // number of occurrences, and answer
    for (auto gram = first; gram != last; ++gram) {
      if (counts.empty() || counts.back().second != gram->answer)
        counts.emplace_back(0, gram->answer);
      ++counts.back().first;
    }
    const auto largest = std::max_element(counts.begin(), counts.end());
    std::int64_t second = 0;
    for (auto other = counts.begin(); other != counts.end(); ++other)
      if (other != largest) second = std::max(second, other->first);
    for (auto count = counts.begin(); count != counts.end(); ++count)
      found[count->second] +=
          double(std::min(count->first, count == largest ? second : largest->first));
  });
  return found;
}

/// exp(1 - c / T), where T is the length of answer i, and c the length of another answer that is
/// nearest to T, the shorter one in a tie; 1 if T is at least c.
double brevity(Answers answers, std::size_t i) {
  const auto own = std::int64_t(answers[i].size());
  std::int64_t nearest = -1;
  for (std::size_t j = 0; j < answers.size(); ++j) {
    const auto length = std::int64_t(answers[j].size());
    if (j == i) continue;
    if (nearest < 0 ||
        std::pair(std::abs(length - own), length) < std::pair(std::abs(nearest - own), nearest))
      nearest = length;
  }
  return own >= nearest ? 1.0 : std::exp(1.0 - double(nearest) / double(own));
}

double self_bleu(Answers answers) {
  std::array<std::vector<double>, kOrders> found;
  for (std::size_t n = 1; n <= kOrders; ++n)
    found[n - 1] = matches(grams_of(answers, n), answers.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const std::size_t orders = std::min(kOrders, answers[i].size());
    if (orders == 0) {
      sum += std::count_if(answers.begin(), answers.end(),
                           [](const auto& other) { return other.empty(); }) > 1
                 ? 1.0
                 : 0.0;
      continue;
    }
    if (found[0][i] == 0.0) continue;
    double logs = 0.0;
    for (std::size_t n = 1; n <= orders; ++n) {
      const double all = double(answers[i].size() - n + 1), same = found[n - 1][i];
      logs += std::log((same > 0.0 ? same : kNoMatch) / all) / double(orders);
    }
    sum += brevity(answers, i) * std::exp(logs);
  }
  return sum / double(answers.size());
}

double distinct(Answers answers) {
  const auto grams = grams_of(answers, kOrders);
  std::size_t different = 0;
  each_gram(grams, [&](auto, auto) { ++different; });
  return grams.empty() ? 0.0 : double(different) / double(grams.size());
}

}  // namespace

const std::vector<std::string>& diversity_measures() {
  static const std::vector<std::string> names{"self_bleu", "distinct_3"};
  return names;
}

double diversity(std::string_view measure, Answers answers) {
  if (answers.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  if (measure == diversity_measures()[0]) return std::clamp(1.0 - self_bleu(answers), 0.0, 1.0);
  expect(measure == diversity_measures()[1], "the measure is a row of diversity_measures()");
  return distinct(answers);
}

}  // namespace rollcall::scheduling
