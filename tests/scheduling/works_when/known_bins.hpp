// A world whose difficulty bins are known and stay: what a bin's rollouts are worth is given, so
// what a rollout game plays can be compared with the best.
#pragma once

#include "scheduling/works_when/small_run.hpp"

#include <array>
#include <cmath>
#include <functional>

namespace rollcall::scheduling {

/// 768 prompts in the six default bins, all with the success rate of their bin; steps of 128
/// prompts and 512 rollouts, arms 2 to 12: the released launchers' mean of 4.
struct KnownBins {
  std::array<double, 6> rate = {0.04, 0.12, 0.3, 0.5, 0.7, 0.93};
  static constexpr std::uint64_t kPrompts = 768;
  static std::size_t bin(std::uint64_t prompt) { return std::size_t(prompt % 6); }
  static PromptTable table() {
    std::vector<float> prior;
    for (std::uint64_t p = 0; p < kPrompts; ++p) prior.push_back(float((double(bin(p)) + 0.5) / 6));
    return table_of(std::move(prior));
  }

  /// Mean rollouts of each bin's prompts in the second half of `steps`. Rewards follow the rate.
  /// Correctness holds every prompt where it is: with the widest margin no estimate of 0 leaves the
  /// lower three bins, and none of 1 the upper three.
  std::array<double, 6> played(const std::string& row, Knobs knobs, std::uint64_t seed,
                               std::uint64_t steps = 1000) const {
    knobs.emplace_back("bin_margin", "0.5");
    const auto policy = make_scheduler({row}, knobs, table(), seed);
    std::array<double, 6> rollouts{}, groups{};
    for (std::uint64_t step = 0; step < steps; ++step) {
      const StepRequest request{
          .step = step, .prompts = 128, .budget = 512, .min_rollouts = 1, .max_rollouts = 16};
      std::vector<GroupReport> reports;
      for (const GroupPlan& g : policy->begin_step(request).groups) {
        const std::size_t b = bin(g.id.prompt.value);
        if (policy->bin(g.id.prompt) != std::int32_t(b))
          throw std::logic_error("a prompt has left its bin");
        GroupReport r = no_results(g.id, g.level);
        const RandomStream random(seed, RandomPurpose::test, step, g.id.prompt.value);
        for (std::uint32_t s = 0; s < g.count; ++s)
          r.rewards.push_back(random.uniform(s) < rate[b] ? 1.0 : 0.0);
        r.correct.assign(g.count, b >= 3);
        if (2 * step >= steps) rollouts[b] += g.count, groups[b] += 1.0;
        reports.push_back(std::move(r));
      }
      std::sort(reports.begin(), reports.end(),
                [](const auto& a, const auto& b) { return a.id < b.id; });
      policy->settle(request, reports);
      policy->end_step(reports);
    }
    for (std::size_t b = 0; b < 6; ++b) rollouts[b] /= groups[b];
    return rollouts;
  }

  /// Worth of n rollouts at success rate p.
  using Worth = std::function<double(double p, double n)>;

  /// Mean over the bins, which are equally frequent; between whole counts in proportion.
  double objective(const std::array<double, 6>& counts, const Worth& worth) const {
    double sum = 0.0;
    for (std::size_t b = 0; b < 6; ++b) {
      const double n = std::floor(counts[b]), part = counts[b] - n;
      sum += ((1 - part) * worth(rate[b], n) + part * worth(rate[b], n + 1)) / 6;
    }
    return sum;
  }

  /// The best counts from 2 to 12 with a mean of 4: one by one to the largest gain, since a rollout
  /// more gains less and less.
  std::array<double, 6> optimum(const Worth& worth) const {
    std::array<double, 6> n;
    n.fill(2.0);
    for (int left = 6 * (4 - 2); left > 0; --left) {
      std::size_t best = 0;
      double most = -1.0;
      for (std::size_t b = 0; b < 6; ++b) {
        const double gain = n[b] < 12 ? worth(rate[b], n[b] + 1) - worth(rate[b], n[b]) : -1.0;
        if (gain > most) most = gain, best = b;
      }
      n[best] += 1.0;
    }
    return n;
  }

  /// Share of the way from what a deaf policy plays to the best.
  double closed(const std::array<double, 6>& counts, const std::array<double, 6>& deaf,
                const Worth& worth) const {
    const double from = objective(deaf, worth);
    return (objective(counts, worth) - from) / (objective(optimum(worth), worth) - from);
  }
};

inline double informative_worth(double p, double n) {
  return 1 - std::pow(p, n) - std::pow(1 - p, n);
}
inline double variance_worth(double p, double n) { return -p * (1 - p) / n; }

}  // namespace rollcall::scheduling
