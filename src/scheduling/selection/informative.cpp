// Chooses the groups that stay.
#include "scheduling/selection/informative.hpp"

#include <algorithm>
#include <set>

namespace rollcall::scheduling {
namespace {

constexpr std::uint64_t kUse = 101;  // keeps the choice among surplus groups apart from the
                                     // samplers' numbers

}  // namespace

std::vector<GroupTraining> InformativeSelection::select(const StepRequest& request,
                                                        const std::vector<GroupReport>& reports) {
  const RandomStream stream = knowledge_->random(request.step, kUse);
  std::vector<std::pair<std::uint64_t, GroupId>> usable;
  for (const GroupReport& report : reports) {
    if (knowledge_->signals.teaches(report))
      usable.emplace_back(stream.bits(std::uint64_t(report.id.draw) << 32 | report.id.prompt.value),
                          report.id);
  }
  std::sort(usable.begin(), usable.end());
  std::set<GroupId> trains;
  for (const auto& [_, id] : usable) {
    if (std::int64_t(trains.size()) < request.prompts) trains.insert(id);
  }
  std::vector<GroupTraining> groups;
  for (const GroupReport& report : reports) {
    if (!trains.contains(report.id))
      groups.push_back({.id = report.id,
                        .weight = 1.0,
                        .keep = std::vector<std::uint8_t>(report.rewards.size(), 0)});
  }
  return groups;
}

}  // namespace rollcall::scheduling
