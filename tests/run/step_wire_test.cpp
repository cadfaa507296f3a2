// Rollouts as they travel between ranks: everything comes back, and bytes that are not a whole part
// are refused.
#include "run/step/step_wire.hpp"

#include "base/errors/error.hpp"
#include "run/random_batch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace rollcall::run {
namespace {

using io::test::same;

/// With what random_batch leaves at its default, and several versions within a turn.
StepBatch any_part(std::uint64_t seed) {
  StepBatch part = random_batch(seed, seed % 5);
  part.greedy = {{{3}, 0.5}, {{seed}, -1.0}};
  for (auto& group : part.groups) {
    group.planned = std::uint32_t(seed), group.bin = -1, group.stream_prompt = seed + 1;
    for (auto& turn : group.rollouts.front().turns)
      for (std::size_t t = 0; t < turn.policy_version.size(); ++t)
        turn.policy_version[t] = 7 + t / 2;
    group.rollouts.front().text = "said";
    if (group.id.draw == 0) continue;
    group.from = {.kind = DerivedKind::hint,
                  .parent = {group.id.step, group.id.prompt, 0},
                  .parent_sample = std::uint32_t(seed),
                  .tier = std::int32_t(seed % 4),
                  .placement = Placement::joins_parent};
    group.start = "begun";
    group.rollouts.back().placed = GroupId{seed, {seed + 1}, 2};
  }
  if (seed % 2 == 0)
    for (const auto& group : part.groups)
      part.training.push_back({.id = group.id,
                               .weight = 0.5 + double(part.training.size()),
                               .keep = std::vector<std::uint8_t>(group.rollouts.size() % 3, 1)});
  if (!part.scores.empty())
    part.scores.back().back().reason = "why", part.scores.back().front().clock_ended = true;
  return part;
}

TEST(StepWire, BringsBackEverything) {
  EXPECT_TRUE(rc::check("from_wire(to_wire(part)) is the part", [] {
    const StepBatch part = any_part(*rc::gen::inRange<std::uint64_t>(0, 1U << 30)),
                    back = from_wire(to_wire(part, Texts::along)), bare = from_wire(to_wire(part));
    RC_ASSERT(back.groups.size() == part.groups.size());
    RC_ASSERT(same(back.groups, part.groups));
    RC_ASSERT(same(back.scores, part.scores));
    RC_ASSERT(back.component_names == part.component_names);
    RC_ASSERT(back.greedy == part.greedy);
    const auto same_training = [](const auto& a, const auto& b) {
      return a.id == b.id && a.weight == b.weight && a.keep == b.keep;
    };
    RC_ASSERT(std::equal(part.training.begin(), part.training.end(), back.training.begin(),
                         back.training.end(), same_training));
    for (std::size_t g = 0; g < part.groups.size(); ++g) {
      const Group &a = part.groups[g], &b = back.groups[g];
      RC_ASSERT(a.planned == b.planned && a.bin == b.bin && a.stream_prompt == b.stream_prompt);
      RC_ASSERT(bare.groups[g].rollouts.front().text.empty());
      RC_ASSERT(bare.groups[g].from == a.from && bare.groups[g].start == a.start);
      for (std::size_t i = 0; i < a.rollouts.size(); ++i) {
        auto facts = a.rollouts[i].facts;
        for (TurnFacts& each : facts) each.reason.clear();
        RC_ASSERT(bare.groups[g].rollouts.at(i).facts == facts);
        RC_ASSERT(bare.groups[g].rollouts[i].placed == a.rollouts[i].placed);
      }
      RC_ASSERT(bare.groups[g].rollouts.size() == a.rollouts.size());
    }
  }));
}

TEST(StepWire, RefusesWhatIsNotAWholePart) {
  const std::string good = to_wire(any_part(9), Texts::along);
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_THROW(from_wire(good.substr(0, size)), ProtocolError) << size;
  EXPECT_THROW(from_wire(good + "x"), ProtocolError);
  for (std::size_t at = 0; at < good.size(); ++at) {  // another part or refused: never memory that
                                                      // is not there
    std::string bad = good;
    bad[at] = char(~bad[at]);
    try {
      from_wire(bad);
    } catch (const ProtocolError&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace rollcall::run
