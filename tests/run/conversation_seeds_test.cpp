// Which conversations meet the same world, and which draw the same numbers.
#include "run/generation/conversation_seeds.hpp"

#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

const ConversationAddress kPlain{
    .split = Split::train, .group = {3, {7}, 1}, .from = {}, .stream_prompt = 99};

environment::Seeds seeds(const ConversationAddress& address, std::uint32_t sample = 0) {
  return conversation_seeds(5, address, sample);
}

TEST(ConversationSeeds, AreExactInJson) {
  for (std::uint32_t sample = 0; sample < 100; ++sample) {
    EXPECT_LT(seeds(kPlain, sample).start, std::uint64_t{1} << 53U);
    EXPECT_LT(seeds(kPlain, sample).turns, std::uint64_t{1} << 53U);
  }
}

TEST(ConversationSeeds, AGroupMeetsOneWorldAndEachRolloutDrawsItsOwn) {
  EXPECT_EQ(seeds(kPlain, 0).start, seeds(kPlain, 4).start);
  EXPECT_NE(seeds(kPlain, 0).turns, seeds(kPlain, 4).turns);
  EXPECT_NE(conversation_seeds(6, kPlain, 0).start, seeds(kPlain).start);
  ConversationAddress other = kPlain;
  other.split = Split::heldout;
  EXPECT_NE(seeds(other).start, seeds(kPlain).start);
  other = kPlain, other.group.step = 4;
  EXPECT_NE(seeds(other).start, seeds(kPlain).start);
  other = kPlain, other.stream_prompt = 98;
  EXPECT_EQ(seeds(other).start, seeds(kPlain).start);
  EXPECT_NE(seeds(other).turns, seeds(kPlain).turns);
}

TEST(ConversationSeeds, WhatAsksAPromptOnceMoreMeetsItsWorld) {
  ConversationAddress again = kPlain;
  again.group.draw = 2, again.from.parent = kPlain.group;
  EXPECT_NE(seeds(again).start, seeds(kPlain).start) << "another draw of the prompt";
  for (const DerivedKind kind : {DerivedKind::hint, DerivedKind::counterpart, DerivedKind::pool}) {
    again.from.kind = kind;
    EXPECT_EQ(seeds(again).start, seeds(kPlain).start);
  }
}

}  // namespace
}  // namespace rollcall::run
