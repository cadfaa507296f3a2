// Numbers of derived prompts: each is of one kind, and those of judge tasks are what they always
// were.
#include "core/derived_prompt.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <vector>

namespace rollcall {
namespace {

constexpr std::array<std::uint64_t, 3> kSteps{1, 77, kDerivedSteps - 1};

TEST(DerivedNumber, TellsItsKind) {
  std::set<std::uint64_t> numbers;
  std::size_t count = 0;
  for (const std::uint64_t step : kSteps)
    for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, kDerivedOfAStep - 1}) {
      std::vector<DerivedKind> kinds(std::begin(kNumberedKinds), std::end(kNumberedKinds));
      kinds.push_back(DerivedKind::verdict);
      for (const DerivedKind kind : kinds) {
        const PromptId number = derived_number(kind, step, index);
        EXPECT_EQ(kind_of(number), kind) << int(kind) << " " << step << " " << index;
        EXPECT_TRUE(is_derived(number));
        EXPECT_LT(number.value, std::uint64_t{1} << 40) << "an address has 40 bits for a prompt";
        numbers.insert(number.value), ++count;
      }
    }
  EXPECT_EQ(numbers.size(), count) << "two prompts have one number";
  EXPECT_EQ(kind_of(PromptId{kFirstDerived - 1}), DerivedKind::none);
}

TEST(DerivedNumber, OfJudgeTasksAreThoseOfEarlierBuilds) {
  // verdict: 2^39 + step * 2^16 + index; reflection: 2^38 more
  EXPECT_EQ(derived_number(DerivedKind::verdict, 1, 0).value, 549755879424U);
  EXPECT_EQ(derived_number(DerivedKind::verdict, 1, 65535).value, 549755944959U);
  EXPECT_EQ(derived_number(DerivedKind::reflection, 1, 1).value, 824633786369U);
  EXPECT_EQ(derived_number(DerivedKind::reflection, 1, 8191).value, 824633794559U);
  EXPECT_EQ(derived_number(DerivedKind::verdict, 4194303, 0).value, 824633655296U);
  EXPECT_EQ(derived_number(DerivedKind::reflection, 4194303, 8191).value, 1099511570431U);
}

TEST(DerivedNumber, JudgeTasksAreKnownWithoutADerivation) {
  const GroupId verdict{3, derived_number(DerivedKind::verdict, 3, 9), 0};
  // Earlier builds numbered up to 65536 reflections in a step.
  const GroupId older{3, {derived_number(DerivedKind::reflection, 3, 0).value + 9000}, 0};
  const GroupId of_task{3, {9}, 0};
  EXPECT_EQ(kind_of(verdict, {}), DerivedKind::verdict);
  EXPECT_EQ(kind_of(older, {}), DerivedKind::reflection);
  EXPECT_EQ(kind_of(of_task, {}), DerivedKind::none);
  EXPECT_EQ(kind_of(of_task, {.kind = DerivedKind::hint}), DerivedKind::hint);
  EXPECT_EQ(kind_of(older, {.kind = DerivedKind::refinement}), DerivedKind::refinement);
  EXPECT_TRUE(is_plain(of_task, {}));
  EXPECT_FALSE(is_plain(verdict, {}));
  EXPECT_FALSE(is_plain(of_task, {.kind = DerivedKind::counterpart}));
}

TEST(FirstDerivedSample, KeepsNumbersOfAGroupApart) {
  // In a parent's group come its own rollouts, then those of prompts with a text, then tiers.
  const PromptId first = derived_number(DerivedKind::refinement, 5, 0),
                 second = derived_number(DerivedKind::refinement, 5, 1),
                 last = derived_number(DerivedKind::pool, 5, kDerivedOfAStep - 1);
  EXPECT_GE(first_derived_sample(first), 1U << 31U);
  EXPECT_EQ(first_derived_sample(second) - first_derived_sample(first), 1U << 14U);
  EXPECT_LT(first_derived_sample(last) + (1U << 14U) - 1, first_derived_sample(0U));
  EXPECT_EQ(first_derived_sample(1U) - first_derived_sample(0U), 1U << 14U);
  // 2^11 draws of a prompt in a step; experts have 2^32 - 1, the guide 2^32 - 2.
  EXPECT_LT(first_derived_sample(std::uint32_t{1} << 12U) + (1U << 14U), 0xFFFFFFFEU);
}

}  // namespace
}  // namespace rollcall
