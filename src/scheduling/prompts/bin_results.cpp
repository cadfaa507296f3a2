// Means over a step's groups for each bin.
#include "scheduling/prompts/bin_results.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

bool any_correct(const GroupReport& report) {
  return std::any_of(report.correct.begin(), report.correct.end(),
                     [](std::uint8_t c) { return c != 0; });
}

double mean_reward(const GroupReport& report) {
  // NaN for no rewards
  return std::accumulate(report.rewards.begin(), report.rewards.end(), 0.0) /
         double(report.rewards.size());
}

double reward_variance(const GroupReport& report) {
  if (report.rewards.size() >= 2 && !informative(report)) return 0.0;
  const double mean = mean_reward(report);
  double square = 0.0;
  for (const double r : report.rewards) square += (r - mean) * (r - mean);
  return report.rewards.size() < 2 ? NAN : square / double(report.rewards.size() - 1);
}

// Means over the groups that have a value.
struct Means {
  std::vector<double> sum, count;
  explicit Means(std::size_t bins) : sum(bins), count(bins) {}
  void add(std::size_t bin, double value) {
    if (!(std::abs(value) <= kLargestHeard)) return;  // NaN, an unknown value, is left out as well
    sum[bin] += value;
    ++count[bin];
  }
  std::vector<double> values() const {
    std::vector<double> mean(sum.size(), NAN);
    for (std::size_t b = 0; b < sum.size(); ++b) {
      if (count[b] > 0) mean[b] = sum[b] / count[b];
    }
    return mean;
  }
};

}  // namespace

void Signal::bind(ConfigSchema& knobs) {
  knobs.bind(
      "signal", &kind_,
      "what counts as a prompt's loss: failure_rate = 1 - mean reward, fail_at_k = no rollout correct, or the update's surrogate_loss",
      {}, {"failure_rate", "fail_at_k", "surrogate_loss"});
}

double Signal::of(const GroupReport& report) const {
  if (kind_ == "surrogate_loss") return report.loss;
  if (kind_ == "fail_at_k") return report.correct.empty() ? NAN : double(!any_correct(report));
  return 1.0 - mean_reward(report);
}

BinResults results_by_bin(const std::vector<GroupReport>& reports,
                          const std::vector<std::int32_t>& bin, std::size_t bins,
                          const Signal& signal, const ArmSignal& arm_signal) {
  BinResults results{.groups = std::vector<std::int64_t>(bins),
                     .rollouts = std::vector<std::int64_t>(bins),
                     .drawn = std::vector<std::int64_t>(bins),
                     .bin_of_report = bin};
  Means signals(bins), gains(bins), passes(bins), variances(bins);
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto b = std::size_t(bin[i]);
    ++results.groups[b];
    results.rollouts[b] += std::int64_t(reports[i].correct.size());
    results.drawn[b] += drawn(reports[i]);
    signals.add(b, signal.of(reports[i]));
    gains.add(b, arm_signal.gain(reports[i], reports[i].rewards.size()));
    passes.add(b, double(any_correct(reports[i])));
    variances.add(b, reward_variance(reports[i]));
  }
  results.signal = signals.values();
  results.gain = gains.values();
  results.pass_rate = passes.values();
  results.variance = variances.values();
  return results;
}

}  // namespace rollcall::scheduling
