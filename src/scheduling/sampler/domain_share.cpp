// Multiplicative control of the domains' rates.
#include "scheduling/sampler/domain_share.hpp"

#include "base/error.hpp"
#include "scheduling/outcomes.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::scheduling {
namespace {

constexpr double kLargestCorrection = 4.0;  // per step

void normalise(std::vector<double>& x) {
  const double sum = std::accumulate(x.begin(), x.end(), 0.0);
  for (double& v : x) v /= sum;
}

}  // namespace

void DomainShareSampler::bind(ConfigSchema& s) {
  s.bind("domain_target", &target_, "target share of each domain, by ascending domain; empty: its share of the training prompts", {0, 1e9});
  s.bind("share_rate", &rate_, "exponent of the correction", {0, 1});
}

std::vector<double> DomainShareSampler::targets() const {
  std::vector<double> target = target_;
  for (std::size_t d = 0; target_.empty() && d < arms(); ++d) target.push_back(double(size(d)));
  const bool positive = std::all_of(target.begin(), target.end(), [](double x) { return x > 0; });
  require<ConfigError>(target.size() == arms() && positive, fmt::format("scheduler.knobs.domain_target = [{}]", fmt::join(target, ", ")),
                       fmt::format("the training prompts have {} domains", arms()), "name one positive share a domain, ascending");
  normalise(target);
  return target;
}

std::vector<double> DomainShareSampler::chances(const StepRequest&, const std::vector<std::int64_t>&) {
  if (weight_.empty()) weight_ = targets();
  return weight_;
}

void DomainShareSampler::observe(const std::vector<std::vector<const GroupReport*>>& by_arm) {
  const auto target = targets();
  if (weight_.empty()) weight_ = target;
  std::vector<double> seen(arms());
  for (std::size_t d = 0; d < arms(); ++d) {
    for (const GroupReport* report : by_arm[d]) seen[d] += informative(*report) ? double(report->rewards.size()) : 0.0;
  }
  const double sum = std::accumulate(seen.begin(), seen.end(), 0.0);
  if (sum == 0) return;  // nothing could train: the shares say nothing
  for (std::size_t d = 0; d < arms(); ++d) {
    const double ratio = seen[d] > 0 ? target[d] * sum / seen[d] : kLargestCorrection;
    weight_[d] *= std::pow(std::clamp(ratio, 1.0 / kLargestCorrection, kLargestCorrection), rate_);
  }
  normalise(weight_);
}

nlohmann::json DomainShareSampler::save() const { return {{"weight", weight_}}; }

void DomainShareSampler::load(const nlohmann::json& state) {
  auto weight = state.at("weight").get<std::vector<double>>();
  require<StorageError>(weight.empty() || weight.size() == arms(), fmt::format("saved rates of {} domains, not {}", weight.size(), arms()),
                        "the run would not continue where it stopped", "resume with the task section it was started with");
  weight_ = std::move(weight);
}

std::vector<std::pair<std::string, double>> DomainShareSampler::metrics() const {
  std::vector<std::pair<std::string, double>> rates;
  for (std::size_t d = 0; d < weight_.size(); ++d) rates.emplace_back(fmt::format("domain/rate/{}", d), weight_[d]);
  return rates;
}

}  // namespace rollcall::scheduling
