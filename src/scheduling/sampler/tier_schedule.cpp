// Linear interpolation between two distributions over the levels.
#include "scheduling/sampler/tier_schedule.hpp"

#include "base/errors/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rollcall::scheduling {
namespace {

std::vector<double> distribution(const std::vector<double>& given, std::size_t levels, bool rising,
                                 const char* knob) {
  std::vector<double> p = given;
  for (std::size_t i = 0; p.size() < levels && given.empty(); ++i)
    p.push_back(double(rising ? i + 1 : levels - i));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  require<ConfigError>(
      p.size() == levels && sum > 0,
      fmt::format("scheduler.knobs.{} has {} weights that sum to {}", knob, p.size(), sum),
      fmt::format("the task has {} levels", levels),
      "name one weight a level, ascending, not all zero");
  for (double& x : p) x /= sum;
  return p;
}

}  // namespace

void TierScheduleSampler::bind(ConfigSchema& s) {
  s.bind("schedule_from", &from_, "progress at which the mix begins to change", {0, 1});
  s.bind("schedule_to", &to_, "progress at which it is done", {0, 1});
  s.bind("tiers_start", &start_,
         "weights of the levels at the start, by ascending level; empty: falling", {0, 1e9});
  s.bind("tiers_final", &final_, "weights at the end; empty: rising", {0, 1e9});
}

std::vector<double> TierScheduleSampler::chances(const StepRequest& request,
                                                 const std::vector<std::int64_t>&) {
  const auto start = distribution(start_, arms(), false, "tiers_start"),
             end = distribution(final_, arms(), true, "tiers_final");
  const double u = to_ > from_ ? std::clamp((request.progress - from_) / (to_ - from_), 0.0, 1.0)
                               : double(request.progress >= to_);
  std::vector<double> chance(arms());
  for (std::size_t a = 0; a < arms(); ++a) chance[a] = (1.0 - u) * start[a] + u * end[a];
  return mix_ = chance;
}

std::vector<std::pair<std::string, double>> TierScheduleSampler::metrics() const {
  std::vector<std::pair<std::string, double>> shares;
  for (std::size_t a = 0; a < mix_.size(); ++a)
    shares.emplace_back(fmt::format("curriculum/share/{}", a), mix_[a]);
  return shares;
}

}  // namespace rollcall::scheduling
