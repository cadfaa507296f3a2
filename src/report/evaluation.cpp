// Estimators of pass@k and maj@k, and the percentile bootstrap over prompts.
#include "report/evaluation.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::report {
namespace {

std::int64_t correct_count(const PromptOutcome& o) {
  return std::count_if(o.correct.begin(), o.correct.end(), [](std::uint8_t c) { return c != 0; });
}

double prompt_pass(const PromptOutcome& o, std::int64_t k) {
  return pass_at_k(std::int64_t(o.correct.size()), correct_count(o), k);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v;
  return sum / double(values.size());
}

// Linear interpolation between order statistics (Hyndman and Fan 1996, definition 7).
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * double(sorted.size() - 1);
  const auto i = std::size_t(at);
  return i + 1 < sorted.size() ? sorted[i] + (at - double(i)) * (sorted[i + 1] - sorted[i])
                               : sorted.back();
}

// Means over `resamples` draws of prompts with replacement. Resample r draws the same prompts for
// any values, so the intervals of one evaluation vary together.
Interval bootstrap(const std::vector<double>& values, std::int64_t resamples, std::uint64_t seed) {
  const double mean = mean_of(values);
  if (std::isnan(mean) || resamples < 1) return {mean, mean, mean};
  std::vector<double> means(static_cast<std::size_t>(resamples));
  for (std::size_t r = 0; r < means.size(); ++r) {
    const RandomStream stream(seed, RandomPurpose::bootstrap, r);
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[stream.below(i, values.size())];
    means[r] = sum / double(values.size());
  }
  std::sort(means.begin(), means.end());
  return {mean, quantile(means, 0.025), quantile(means, 0.975)};
}

template <class F>
std::vector<double> per_prompt(const std::vector<PromptOutcome>& outcomes, F f) {
  std::vector<double> values;
  values.reserve(outcomes.size());
  for (const auto& o : outcomes) values.push_back(f(o));
  return values;
}

std::vector<LevelResult> by_level(const std::vector<PromptOutcome>& outcomes, std::int64_t k) {
  std::map<std::int32_t, LevelResult> levels;
  for (const auto& o : outcomes) {
    LevelResult& l = levels[o.level];
    l.level = o.level;
    ++l.prompts;
    l.pass_at_1 += prompt_pass(o, 1);
    l.pass_at_k += prompt_pass(o, k);
  }
  std::vector<LevelResult> results;
  for (auto& [level, l] : levels) {
    l.pass_at_1 /= double(l.prompts);
    l.pass_at_k /= double(l.prompts);
    results.push_back(l);
  }
  return results;
}

void check(const std::vector<PromptOutcome>& outcomes) {
  require<InputError>(!outcomes.empty(), "an evaluation of no prompts",
                      "there is nothing to average", "set task.heldout_prompts to at least 1");
}

}  // namespace

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  require<InputError>(1 <= k && k <= n && 0 <= c && c <= n,
                      fmt::format("pass@{} of {} correct among {} samples", k, c, n),
                      "pass@k needs 1 <= k <= n and 0 <= c <= n",
                      "draw at least k samples a prompt");
  // C(n-c,k)/C(n,k) is the product of (1 - k/i) over i = n-c+1 .. n. If fewer than k samples are
  // wrong, the factor for i = k is zero.
  double none = 1.0;
  for (std::int64_t i = n - c + 1; i <= n; ++i) none *= 1.0 - double(k) / double(std::max(i, k));
  return 1.0 - none;
}

double majority_at_k(const PromptOutcome& o, std::int64_t k) {
  if (o.answers.empty()) return std::numeric_limits<double>::quiet_NaN();
  require<InputError>(
      o.answers.size() == o.correct.size() && 1 <= k && k <= std::int64_t(o.answers.size()),
      fmt::format("maj@{} of {} answers and {} verdicts", k, o.answers.size(), o.correct.size()),
      "each of the first k samples votes once", "draw at least k samples a prompt");
  for (std::size_t i = 0; i < std::size_t(k); ++i)
    if (o.correct[i] != 0 && o.answers[i].empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto end = o.answers.begin() + k;
  std::ptrdiff_t most = 0;
  auto winner = end;
  for (auto i = o.answers.begin(); i != end; ++i) {
    const auto votes = std::count(o.answers.begin(), end, *i);
    if (!i->empty() && votes > most) most = votes, winner = i;
  }
  return winner != end && o.correct[std::size_t(winner - o.answers.begin())] != 0 ? 1.0 : 0.0;
}

Evaluation evaluate(const std::vector<PromptOutcome>& outcomes, std::int64_t k,
                    std::int64_t resamples, std::uint64_t seed) {
  check(outcomes);
  Evaluation e;
  e.prompts = std::int64_t(outcomes.size());
  e.k = k;
  for (const auto& o : outcomes) e.samples += std::int64_t(o.correct.size());
  e.pass_at_1 =
      bootstrap(per_prompt(outcomes, [](const PromptOutcome& o) { return prompt_pass(o, 1); }),
                resamples, seed);
  e.pass_at_k =
      bootstrap(per_prompt(outcomes, [k](const PromptOutcome& o) { return prompt_pass(o, k); }),
                resamples, seed);
  e.majority_at_k =
      bootstrap(per_prompt(outcomes, [k](const PromptOutcome& o) { return majority_at_k(o, k); }),
                resamples, seed);
  e.levels = by_level(outcomes, k);
  return e;
}

Interval paired_gain(const std::vector<PromptOutcome>& before,
                     const std::vector<PromptOutcome>& after, std::int64_t k,
                     std::int64_t resamples, std::uint64_t seed) {
  check(before);
  require<InputError>(before.size() == after.size(),
                      fmt::format("{} prompts before and {} after", before.size(), after.size()),
                      "a paired comparison needs the same prompts in the same order",
                      "evaluate both on one held-out set");
  std::vector<double> gain;
  for (std::size_t i = 0; i < before.size(); ++i)
    gain.push_back(prompt_pass(after[i], k) - prompt_pass(before[i], k));
  return bootstrap(gain, resamples, seed);
}

}  // namespace rollcall::report
