// Compares the domains' shares of the finished rollouts with the target shares.
#include "scheduling/sampler/domain_share.hpp"

#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "scheduling/prompts/outcomes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr double kLeast = 50, kLargestCorrection = 10.0;  // rollouts before any correction, and the
                                                          // largest correction, as published

void normalise(std::vector<double>& x) {
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= sum;
}

}  // namespace

void DomainShareSampler::bind(ConfigSchema& s) {
  s.bind(
      "domain_target", &target_,
      "target share of each domain, by ascending domain; empty: its share of the training prompts",
      {0, 1e9});
}

std::vector<double> DomainShareSampler::targets() const {
  std::vector<double> target = target_;
  for (std::size_t d = 0; target_.empty() && d < arms(); ++d) target.push_back(double(size(d)));
  const bool positive = std::all_of(target.begin(), target.end(), [](double x) { return x > 0; });
  require<ConfigError>(target.size() == arms() && positive,
                       fmt::format("scheduler.knobs.domain_target = [{}]", fmt::join(target, ", ")),
                       fmt::format("the training prompts have {} domains", arms()),
                       "name one positive share a domain, ascending");
  normalise(target);
  return target;
}

std::vector<double> DomainShareSampler::rates() const {
  const auto target = targets();
  const double all = std::accumulate(finished_.begin(), finished_.end(), 0.0);
  if (all < kLeast) return target;
  std::vector<double> rate(target.size());
  for (std::size_t d = 0; d < rate.size(); ++d) {
    const double ratio = finished_[d] > 0 ? target[d] * all / finished_[d] : kLargestCorrection;
    rate[d] = target[d] * std::clamp(ratio, 1.0 / kLargestCorrection, kLargestCorrection);
  }
  normalise(rate);
  return rate;
}

std::vector<double> DomainShareSampler::chances(const StepRequest&,
                                                const std::vector<std::int64_t>&) {
  return rates();
}

void DomainShareSampler::observe(const std::vector<std::vector<const GroupReport*>>& by_arm) {
  finished_.resize(arms());
  for (std::size_t d = 0; d < arms(); ++d) {
    for (const GroupReport* report : by_arm[d]) finished_[d] += double(report->rewards.size());
  }
}

nlohmann::json DomainShareSampler::save() const { return {{"finished", finished_}}; }

void DomainShareSampler::load(const nlohmann::json& state) {
  auto finished = state.at("finished").get<std::vector<double>>();
  require<StorageError>(finished.empty() || finished.size() == arms(),
                        fmt::format("saved counts of {} domains, not {}", finished.size(), arms()),
                        "the run would not continue where it stopped",
                        "resume with the task section it was started with");
  finished_ = std::move(finished);
}

std::vector<std::pair<std::string, double>> DomainShareSampler::metrics() const {
  std::vector<std::pair<std::string, double>> metrics;
  const auto rate = rates();
  for (std::size_t d = 0; d < rate.size(); ++d)
    metrics.emplace_back(fmt::format("domain/rate/{}", d), rate[d]);
  return metrics;
}

}  // namespace rollcall::scheduling
