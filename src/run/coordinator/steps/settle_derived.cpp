// Goes through the parents one at a time and collects the groups derived from each.
#include "run/coordinator/steps/settle_derived.hpp"

#include "run/step/placed_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace rollcall::run {
namespace {

/// A rollout by its report and its place among the rollouts that stay in the step.
struct Place {
  const GroupReport* report = nullptr;
  std::size_t index = 0;
  double reward() const { return report->rewards[index]; }
  bool correct() const { return report->correct[index] != 0; }
};

using Reports = std::vector<const GroupReport*>;

bool are_tiers(const Reports& made) { return made.front()->from.kind == DerivedKind::hint; }

std::vector<Place> places_of(const Reports& reports) {
  std::vector<Place> all;
  for (const GroupReport* report : reports)
    for (std::size_t i = 0; i < report->rewards.size(); ++i) all.push_back({report, i});
  return all;
}

class Settling {
 public:
  Settling(scheduling::Training& training, std::int64_t keep)
      : training_(&training),
        keep_(keep == 0 ? std::numeric_limits<std::size_t>::max() : std::size_t(keep)) {
    for (std::size_t g = 0; g < training.groups.size(); ++g) index_[training.groups[g].id] = g;
  }

  /// Settles the groups derived from a parent with one placement.
  void settle(const GroupReport& parent, const Reports& made) {
    for (const GroupReport* report : made) leave(*report);
    std::vector<Place> all = places_of(made);
    if (all.empty()) return;
    switch (made.front()->from.placement) {
      case Placement::joins_parent:
        if (!are_tiers(made)) keep_best(all);
        train(all);
        break;
      case Placement::replaces_parent:
        leave(parent);
        train(are_tiers(made) ? places_of({last_tier(made)}) : all);
        break;
      case Placement::replaces_one: replace_failures(parent, all, are_tiers(made)); break;
      case Placement::own_group:
      case Placement::trains_nowhere: break;
    }
  }

  /// All rollouts of the group leave, unless one of the functions below decides otherwise.
  void leave(const GroupReport& report) { keep_of(report).assign(report.rewards.size(), kLeaves); }

  void finish() {
    std::sort(training_->groups.begin(), training_->groups.end(),
              [](const auto& a, const auto& b) { return a.id < b.id; });
  }

 private:
  std::vector<std::uint8_t>& keep_of(const GroupReport& report) {
    const auto [at, fresh] = index_.try_emplace(report.id, training_->groups.size());
    if (fresh) training_->groups.push_back({.id = report.id});
    auto& keep = training_->groups[at->second].keep;
    keep.resize(report.rewards.size(), 1);  // an empty list means that all train
    return keep;
  }

  void train(const std::vector<Place>& all) {
    for (const Place& place : all) keep_of(*place.report)[place.index] = 1;
  }

  void keep_best(std::vector<Place>& all) const {
    std::stable_sort(all.begin(), all.end(),
                     [](const Place& a, const Place& b) { return a.reward() > b.reward(); });
    all.resize(std::min(all.size(), keep_));
  }

  static const GroupReport* last_tier(const Reports& made) {
    const GroupReport* last = nullptr;
    for (const GroupReport* report : made)
      if (!report->rewards.empty() && (last == nullptr || report->from.tier > last->from.tier))
        last = report;
    return last;
  }

  void replace_failures(const GroupReport& parent, std::vector<Place> all, bool tiers) {
    std::erase_if(all, [](const Place& place) { return !place.correct(); });
    std::stable_sort(all.begin(), all.end(), [](const Place& a, const Place& b) {
      return a.report->from.tier < b.report->from.tier;
    });
    if (tiers && !all.empty()) all.resize(1);
    std::size_t replaced = 0;
    for (std::size_t i = 0; i < parent.correct.size() && replaced < all.size(); ++i) {
      auto& keep = keep_of(parent)[i];
      if (parent.correct[i] != 0 || keep == kLeaves) continue;
      keep = kLeaves;
      ++replaced;
    }
    all.resize(replaced);
    train(all);
  }

  scheduling::Training* training_;
  std::size_t keep_;
  std::map<GroupId, std::size_t> index_{};  ///< of each group in the training
};

}  // namespace

void settle_derived(scheduling::Training& training, const std::vector<GroupReport>& reports,
                    std::int64_t keep) {
  std::map<GroupId, const GroupReport*> parents;
  std::map<std::tuple<GroupId, Placement, bool>, Reports> made;  // tiers are settled separately
  for (const GroupReport& report : reports) {
    if (is_plain(report.from)) parents[report.id] = &report;
    else
      made[{report.from.parent, report.from.placement, report.from.kind == DerivedKind::hint}]
          .push_back(&report);
  }
  if (made.empty()) return;
  Settling settling(training, keep);
  for (const auto& [of, groups] : made) {
    const auto& [id, placement, of_tiers] = of;
    if (placement == Placement::own_group) continue;
    if (placement == Placement::trains_nowhere) {
      for (const GroupReport* report : groups) settling.leave(*report);
      continue;
    }
    const auto parent = parents.find(id);
    if (parent != parents.end() && !parent->second->rewards.empty())
      settling.settle(*parent->second, groups);
  }
  settling.finish();
}

}  // namespace rollcall::run
