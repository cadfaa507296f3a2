// Decides the number of rollouts of each kind that train, then takes the cleanest.
#include "scheduling/selection/clean_positives.hpp"

#include "scheduling/prompts/outcomes.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void CleanPositivesSelection::bind(ConfigSchema& s) {
  s.bind("clean_share", &share_, "share of a group's rollouts that trains", {0, 1});
  s.bind("clean_least", &least_,
         "right and wrong rollouts that train at least, where there are as many", {0, 1e6});
}

std::vector<std::uint8_t> CleanPositivesSelection::choose(const GroupReport& report) const {
  std::vector<std::size_t> good, bad;
  for (std::size_t i = 0; i < report.correct.size(); ++i)
    (report.correct[i] != 0 ? good : bad).push_back(i);
  std::stable_sort(good.begin(), good.end(), [&](std::size_t a, std::size_t b) {
    return report.rewards[a] > report.rewards[b];
  });
  const auto m = std::llround(share_ * double(report.correct.size()));
  const auto least = [&](const auto& kind) {
    return std::min<std::int64_t>(least_, std::int64_t(kind.size()));
  };
  // Halves are rounded to the even number.
  const auto part = [&](const auto& kind) {
    return std::int64_t(std::nearbyint(share_ * double(kind.size())));
  };
  // The shares of both kinds are below clean_least, so all rollouts train.
  if (part(bad) < least_ && part(good) < least_)
    return std::vector<std::uint8_t>(report.correct.size(), 1);
  std::int64_t wrong = part(bad), right = m - wrong;
  if (wrong <= least(bad)) wrong = least(bad), right = m - wrong;
  if (std::min(right, part(good)) <= least(good)) right = least(good), wrong = m - right;
  std::vector<std::uint8_t> keep(report.correct.size(), 0);
  for (std::int64_t k = 0; k < std::min(right, std::int64_t(good.size())); ++k)
    keep[good[std::size_t(k)]] = 1;
  for (std::int64_t k = 0; k < std::min(wrong, std::int64_t(bad.size())); ++k)
    keep[bad[std::size_t(k)]] = 1;
  return keep;
}

std::vector<GroupTraining> CleanPositivesSelection::select(
    const StepRequest&, const std::vector<GroupReport>& reports) {
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    groups.push_back({.id = report.id,
                      .weight = 1.0,
                      .keep = informative(report)
                                  ? choose(report)
                                  : std::vector<std::uint8_t>(report.rewards.size(), 0)});
  }
  return groups;
}

}  // namespace rollcall::scheduling
