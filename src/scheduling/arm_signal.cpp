// The formula of each signal.
#include "scheduling/arm_signal.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

double mean(const GroupReport& report, std::size_t n) {
  return std::accumulate(report.rewards.begin(), report.rewards.begin() + std::ptrdiff_t(n), 0.0) /
         double(n);
}

double variance(const GroupReport& report, std::size_t n) {
  if (n >= 2 && !differ({report.rewards.data(), n})) return 0.0;
  const double center = mean(report, n);
  double square = 0.0;
  for (std::size_t i = 0; i < n; ++i)
    square += (report.rewards[i] - center) * (report.rewards[i] - center);
  return n < 2 ? NAN : square / double(n - 1);
}

}  // namespace

void ArmSignal::bind(ConfigSchema& knobs) {
  knobs.bind(
      "arm_signal", &kind_,
      "what a prompt's n rollouts are worth: informative = their rewards differ, variance_proxy = -variance / n, solved = one is correct",
      {}, {"informative", "variance_proxy", "solved", "failure_rate", "surrogate_loss"});
}

double ArmSignal::gain(const GroupReport& report, std::size_t n) const {
  if (n == 0 || n > report.rewards.size()) return NAN;
  if (kind_ == "informative") return differ({report.rewards.data(), n}) ? 1.0 : 0.0;
  if (kind_ == "variance_proxy") return -variance(report, n) / double(n);
  if (kind_ == "failure_rate") return mean(report, n) - 1.0;
  if (kind_ == "surrogate_loss") return -report.loss;
  return std::any_of(report.correct.begin(), report.correct.begin() + std::ptrdiff_t(n),
                     [](std::uint8_t c) { return c != 0; })
             ? 1.0
             : 0.0;
}

double ArmSignal::least(double cap) const {
  // variance_proxy is lowest for two rewards of 0 and 1: their unbiased variance is 1/2, and n is
  // 2.
  return kind_ == "surrogate_loss"   ? -cap
         : kind_ == "failure_rate"   ? -1.0
         : kind_ == "variance_proxy" ? -0.25
                                     : 0.0;
}

double ArmSignal::most(double cap) const {
  return kind_ == "surrogate_loss" ? cap : ranks_arms() && kind_ != "variance_proxy" ? 1.0 : 0.0;
}

}  // namespace rollcall::scheduling
