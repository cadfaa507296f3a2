// Chances of survival over the whole step, and the draw.
#include "scheduling/selection/survivors.hpp"

#include "scheduling/sampler/ranked.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {
namespace {

constexpr double kLeast = 0.1, kMost = 0.9;  // bounds of the chance of survival
constexpr int kHalvings = 60;                // of an interval of length 4: below the last bit

double chance(double wish, double delta) { return std::clamp(wish + delta, kLeast, kMost); }

/// The delta for which the mean chance is `share`, or as near to it as the bounds allow.
double shift(const std::vector<double>& wishes, double share) {
  double low = -2.0, high = 2.0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0.0;
    for (const double wish : wishes) sum += chance(wish, middle);
    (sum < share * double(wishes.size()) ? low : high) = middle;
  }
  return (low + high) / 2;
}

bool predicts(const GroupReport& report) {
  return report.predicted.size() == report.rewards.size() && !report.predicted.empty();
}

}  // namespace

void SurvivorsSelection::bind(ConfigSchema& s) {
  s.bind("survivors_target", &target_, "expected share of right rollouts among those that train",
         {0, 1});
  s.bind("survivors_share", &share_, "share of the step's rollouts that trains", {0, 1});
  s.bind("survivors_slope", &slope_,
         "how much a rollout's chance to train falls with its predicted success", {0, 10});
}

std::vector<GroupTraining> SurvivorsSelection::select(const StepRequest& request,
                                                      const std::vector<GroupReport>& reports) {
  std::vector<double> wishes;
  for (const GroupReport& report : reports) {
    if (!predicts(report)) continue;
    for (const double q : report.predicted) wishes.push_back(share_ + slope_ * (target_ - q));
  }
  const double delta = wishes.empty() ? 0.0 : shift(wishes, share_);
  const RandomStream random = knowledge_->random(request.step, std::uint64_t(SamplerUse::survive));
  std::vector<GroupTraining> groups;
  std::size_t index = 0;
  for (const GroupReport& report : reports) {
    if (!predicts(report)) continue;
    std::vector<std::uint8_t> keep;
    std::size_t likeliest = 0;
    for (std::size_t i = 0; i < report.predicted.size(); ++i, ++index) {
      keep.push_back(random.uniform(index) < chance(wishes[index], delta) ? 1 : 0);
      if (report.predicted[i] < report.predicted[likeliest]) likeliest = i;
    }
    if (std::find(keep.begin(), keep.end(), 1) == keep.end()) keep[likeliest] = 1;
    groups.push_back({.id = report.id, .weight = 1.0, .keep = std::move(keep)});
  }
  return groups;
}

}  // namespace rollcall::scheduling
