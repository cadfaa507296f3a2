// Collects the advantages of all groups and keeps those with the largest variance.
#include "scheduling/selection/extreme_advantages.hpp"

#include "scheduling/prompts/outcomes.hpp"
#include "scheduling/selection/spread.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::scheduling {

void ExtremeAdvantagesSelection::bind(ConfigSchema& s) {
  s.bind("share_start", &start_, "share of the rollouts that train at the start", {0, 1});
  s.bind("share_final", &final_, "share at the end", {0, 1});
}

std::vector<GroupTraining> ExtremeAdvantagesSelection::select(
    const StepRequest& request, const std::vector<GroupReport>& reports) {
  using Place = std::pair<std::size_t, std::size_t>;  // group, rollout
  std::vector<double> advantage;                      // of the rollouts in `where`, whose advantage
                                                      // is not 0
  std::vector<GroupTraining> groups;
  std::vector<Place> where, zero;
  for (const GroupReport& report : reports) {
    const auto standardised_rewards = standardised(report.rewards);
    // group_norm divides by the spread with n - 1
    const double n = double(standardised_rewards.size()), unbiased = std::sqrt((n - 1) / n);
    for (std::size_t i = 0; i < standardised_rewards.size(); ++i) {
      if (standardised_rewards[i] == 0) {
        zero.emplace_back(groups.size(), i);
        continue;
      }
      advantage.push_back(standardised_rewards[i] * unbiased);
      where.emplace_back(groups.size(), i);
    }
    groups.push_back({.id = report.id,
                      .weight = 1.0,
                      .keep = std::vector<std::uint8_t>(standardised_rewards.size(), 0)});
  }
  share_ = (1.0 - request.progress) * start_ + request.progress * final_;
  // a product that exceeds an integer only by rounding becomes that integer
  const auto count = std::size_t(std::ceil(share_ * double(where.size() + zero.size()) - 1e-9));
  const auto kept = widest_subset(advantage, count);
  for (std::size_t i = 0; i < kept.size(); ++i)
    groups[where[i].first].keep[where[i].second] = kept[i];
  for (std::size_t i = 0; i < zero.size() && where.size() + i < count; ++i)
    groups[zero[i].first].keep[zero[i].second] = 1;
  return groups;
}

}  // namespace rollcall::scheduling
