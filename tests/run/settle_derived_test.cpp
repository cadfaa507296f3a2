// Which rollouts of derived groups train, with numbers worked by hand.
#include "run/coordinator/steps/settle_derived.hpp"

#include "core/derived_prompt.hpp"
#include "run/step/placed_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace rollcall::run {
namespace {

using Keep = std::vector<std::uint8_t>;
constexpr std::uint8_t kGone = kLeaves;
const GroupId kParent{3, {5}, 0};

GroupReport report_of(const GroupId& id, const std::vector<double>& rewards,
                      const Derivation& from = {}) {
  GroupReport report{.id = id, .rewards = rewards, .from = from};
  for (const double reward : rewards) report.correct.push_back(reward >= 1.0 ? 1 : 0);
  return report;
}

GroupReport refinement(std::uint64_t index, const std::vector<double>& rewards,
                       Placement placement) {
  return report_of({3, derived_number(DerivedKind::refinement, 3, index), 0}, rewards,
                   {.kind = DerivedKind::refinement,
                    .parent = kParent,
                    .parent_sample = std::uint32_t(index),
                    .tier = 0,
                    .placement = placement});
}

GroupReport tier(std::int32_t number, const std::vector<double>& rewards, Placement placement) {
  Derivation from{.kind = DerivedKind::hint, .parent = kParent};
  from.tier = number, from.placement = placement;
  return report_of({3, kParent.prompt, std::uint32_t(number)}, rewards, from);
}

/// [groups of `reports`] what is kept of each; empty: all.
std::vector<Keep> settled(const std::vector<GroupReport>& reports, std::int64_t keep,
                          scheduling::Training training = {}) {
  settle_derived(training, reports, keep);
  std::map<GroupId, Keep> of;
  for (const auto& group : training.groups) of[group.id] = group.keep;
  EXPECT_TRUE(std::is_sorted(training.groups.begin(), training.groups.end(),
                             [](const auto& a, const auto& b) { return a.id < b.id; }));
  std::vector<Keep> all;
  for (const GroupReport& report : reports) all.push_back(of[report.id]);
  return all;
}

TEST(SettleDerived, TheBestJoinTheParent) {
  const std::vector<GroupReport> reports{report_of(kParent, {0, 0, 1}),
                                         refinement(0, {0.5, 1}, Placement::joins_parent),
                                         refinement(1, {1, 2}, Placement::joins_parent)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{}, {kGone, kGone}, {kGone, 1}}));
  EXPECT_EQ(settled(reports, 2), (std::vector<Keep>{{}, {kGone, 1}, {kGone, 1}}))
      << "of two that are equal the first";
  EXPECT_EQ(settled(reports, 0), (std::vector<Keep>{{}, {1, 1}, {1, 1}}));
}

TEST(SettleDerived, AParentIsReplaced) {
  const std::vector<GroupReport> reports{report_of(kParent, {0, 0, 0}),
                                         refinement(0, {0, 1}, Placement::replaces_parent)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{kGone, kGone, kGone}, {1, 1}}))
      << "`keep` is of those that join";
}

TEST(SettleDerived, SuccessesReplaceAsManyFailures) {
  const std::vector<GroupReport> reports{report_of(kParent, {1, 0, 0}),
                                         refinement(0, {0, 1}, Placement::replaces_one),
                                         refinement(1, {1, 1}, Placement::replaces_one)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{1, kGone, kGone}, {kGone, 1}, {1, kGone}}))
      << "two failures, so two of three successes";
  const std::vector<GroupReport> none{report_of(kParent, {0, 0}),
                                      refinement(0, {0, 0}, Placement::replaces_one)};
  EXPECT_EQ(settled(none, 1), (std::vector<Keep>{{}, {kGone, kGone}}));
}

TEST(SettleDerived, OfTiersTheLastReplacesTheParent) {
  const auto tiers = Placement::replaces_parent;
  const std::vector<GroupReport> reports{report_of(kParent, {0, 0}), tier(1, {0, 0}, tiers),
                                         tier(2, {1, 0}, tiers), tier(3, {}, tiers)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{kGone, kGone}, {kGone, kGone}, {1, 1}, {}}))
      << "the third tier has no verdict";
}

TEST(SettleDerived, OfTiersTheFirstSuccessReplacesAFailure) {
  const auto tiers = Placement::replaces_one;
  const std::vector<GroupReport> reports{report_of(kParent, {0, 0}), tier(1, {0, 0}, tiers),
                                         tier(2, {0, 1, 1}, tiers), tier(3, {1}, tiers)};
  EXPECT_EQ(settled(reports, 0),
            (std::vector<Keep>{{kGone, 1}, {kGone, kGone}, {kGone, 1, kGone}, {kGone}}));
}

TEST(SettleDerived, TiersThatJoinAllTrain) {
  const std::vector<GroupReport> reports{report_of(kParent, {0, 1}),
                                         tier(2, {0, 1, 0}, Placement::joins_parent)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{}, {1, 1, 1}}));
}

TEST(SettleDerived, WhatTheSchedulerDecidedStays) {
  scheduling::Training training{.groups = {{.id = kParent, .weight = 0.5, .keep = {0, 1, 0}}}};
  const std::vector<GroupReport> reports{report_of(kParent, {0, 0, 0}),
                                         refinement(0, {1}, Placement::replaces_one)};
  EXPECT_EQ(settled(reports, 1, training), (std::vector<Keep>{{kGone, 1, 0}, {1}}));
}

TEST(SettleDerived, WithoutAParentAGroupTrainsOnItsOwn) {
  GroupReport undecided = report_of(kParent, {});
  undecided.dropped = 3;
  const std::vector<GroupReport> reports{undecided, refinement(0, {1, 0}, Placement::joins_parent),
                                         refinement(1, {1}, Placement::trains_nowhere)};
  EXPECT_EQ(settled(reports, 1), (std::vector<Keep>{{}, {}, {kGone}}));
}

TEST(SettleDerived, StepsWithoutDerivedGroupsKeepTheirTraining) {
  scheduling::Training training{.groups = {{.id = kParent, .weight = 0.5}}, .drawn = 2};
  settle_derived(training, {report_of(kParent, {0, 1})}, 1);
  ASSERT_EQ(training.groups.size(), 1U);
  EXPECT_TRUE(training.groups[0].keep.empty());
  EXPECT_EQ(training.drawn, 2);
}

}  // namespace
}  // namespace rollcall::run
