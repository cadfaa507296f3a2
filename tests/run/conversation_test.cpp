// How a conversation goes on and ends, one row of the table of ends after the other, without any
// model.
#include "run/generation/conversation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::run {
namespace {

using environment::Answer;
using environment::Loss;
using testing::ElementsAre;

class Played : public testing::Test {
 protected:
  std::vector<std::int32_t> tokens(const std::string& said) const {
    return format_.tokenizer()->encode(said);
  }
  Conversation begun(const TurnLimits& limits, const std::string& given = "") const {
    Conversation made({.id = "train/1/2/0/3"}, {}, tokens(given));
    EXPECT_EQ(made.begin({.state = "s0", .text = "shown"}), "shown");
    made.limit(limits);
    return made;
  }
  /// The policy says this next and ends its turn.
  bool says(Conversation& talk, const std::string& said, bool stopped = true) {
    const std::size_t turn = sampled_.size();
    const auto more = tokens(said);
    sampled_.insert(sampled_.end(), more.begin(), more.end());
    return talk.hear(sampled_, turn, stopped, texts_);
  }

  const text::PromptFormat format_{{}, ""};
  const text::TurnTexts texts_{format_, "user", ""};
  std::vector<std::int32_t> sampled_;
  static constexpr TurnLimits kWide{.turns = 3, .sampled = 20, .all = 40};
};

TEST_F(Played, GoesOnAfterWhatItIsTold) {
  Conversation talk = begun(kWide);
  EXPECT_EQ(talk.room(), 20);
  ASSERT_TRUE(says(talk, "12"));
  EXPECT_THAT(talk.talk().actions, ElementsAre("12"));
  const model::Reply reply = talk.take({.state = "s1", .text = "no", .reward = 0.5}, texts_);
  EXPECT_FALSE(reply.over);
  EXPECT_EQ(reply.said, texts_.between(tokens("12"), std::vector<text::Said>{{"user", "no"}}));
  EXPECT_FALSE(reply.said.empty());
  EXPECT_EQ(reply.most, 18);
  EXPECT_THAT(talk.talk().said, ElementsAre("shown", "no"));
  EXPECT_EQ(talk.talk().state, "s1");
  const PlayedTurn& turn = talk.turns().at(0);
  EXPECT_EQ(turn.facts.reward, 0.5);
  EXPECT_EQ(turn.facts.state, fact_hash("s0"));
  EXPECT_EQ(turn.facts.action, fact_hash("12"));
  EXPECT_EQ(turn.state_after, fact_hash("s1"));
  EXPECT_EQ(turn.said, reply.said);
}

TEST_F(Played, TheEnvironmentEndsIt) {
  Conversation talk = begun(kWide);
  ASSERT_TRUE(says(talk, "12"));
  EXPECT_TRUE(
      talk.take({.state = "s1", .text = "yes", .done = true, .correct = true}, texts_).over);
  EXPECT_EQ(talk.finish(), FinishReason::stop);
  EXPECT_EQ(talk.turns().at(0).facts.flags, turn_flag::decided | turn_flag::correct);
  EXPECT_TRUE(talk.turns().at(0).said.empty());
}

TEST_F(Played, AVerdictAgainstItIsOneToo) {
  Conversation talk = begun(kWide);
  ASSERT_TRUE(says(talk, "12"));
  EXPECT_TRUE(talk.take({.done = true, .correct = false}, texts_).over);
  EXPECT_EQ(talk.turns().at(0).facts.flags, turn_flag::decided);
}

TEST_F(Played, ATurnThatALimitCutIsNoAction) {
  Conversation talk = begun(kWide);
  EXPECT_FALSE(says(talk, "12", false));
  EXPECT_TRUE(talk.over());
  EXPECT_EQ(talk.finish(), FinishReason::length);
  EXPECT_TRUE(talk.talk().actions.empty());
  EXPECT_EQ(talk.turns().at(0).state_after, 0U);
}

TEST_F(Played, WhatItIsToldMayLeaveNoRoom) {
  Conversation talk = begun({.turns = 3, .sampled = 20, .all = 6});
  ASSERT_TRUE(says(talk, "12"));
  EXPECT_TRUE(talk.take({.state = "s1", .text = "12345", .reward = 2.0}, texts_).over);
  EXPECT_EQ(talk.finish(), FinishReason::length);
  EXPECT_TRUE(talk.turns().at(0).said.empty());
  EXPECT_EQ(talk.turns().at(0).facts.reward, 2.0) << "its reward counts";
  EXPECT_NE(talk.turns().at(0).state_after, 0U);
}

TEST_F(Played, TurnsAreCounted) {
  Conversation talk = begun({.turns = 2, .sampled = 20, .all = 40});
  ASSERT_TRUE(says(talk, "1"));
  ASSERT_FALSE(talk.take({.text = "no"}, texts_).over);
  ASSERT_TRUE(says(talk, "2"));
  EXPECT_TRUE(talk.take({.text = "no"}, texts_).over);
  EXPECT_EQ(talk.finish(), FinishReason::turns);
}

TEST_F(Played, AnEmptyAnswerIsAMessage) {
  Conversation talk = begun(kWide);
  ASSERT_TRUE(says(talk, "1"));
  EXPECT_FALSE(talk.take({}, texts_).over);
}

TEST_F(Played, LossesAreFlagged) {
  const std::pair<Loss, std::int64_t> rows[] = {
      {Loss::told, turn_flag::error},      {Loss::machine, 0},
      {Loss::changed, turn_flag::error},   {Loss::died, turn_flag::ended},
      {Loss::malformed, turn_flag::ended}, {Loss::clock, turn_flag::ended | turn_flag::by_clock}};
  for (const auto& [loss, flags] : rows) {
    sampled_.clear();
    Conversation talk = begun(kWide);
    ASSERT_TRUE(says(talk, "1"));
    EXPECT_TRUE(talk.take({.reward = 5.0, .reason = "why", .loss = loss}, texts_).over);
    EXPECT_EQ(talk.finish(), FinishReason::lost);
    const PlayedTurn& turn = talk.turns().at(0);
    EXPECT_EQ(turn.facts.flags, flags);
    EXPECT_EQ(turn.facts.reason, "why");
    EXPECT_EQ(turn.facts.reward, 0.0) << "what comes with a loss is no reward";
    EXPECT_EQ(turn.state_after, 0U);

    Conversation other({.id = "x"}, kWide, {});
    EXPECT_EQ(other.begin({.text = "unseen", .reason = "why", .loss = loss}), "");
    EXPECT_TRUE(other.over());
    ASSERT_TRUE(other.lost_start());
    EXPECT_EQ(other.lost_start()->flags, flags);
    EXPECT_EQ(other.lost_start()->reason, "why");
  }
}

/// No turn has been taken that a start could end, judge or pay.
TEST_F(Played, AStartEndsAndPaysNothing) {
  const std::pair<environment::Answer, std::string> rows[] = {
      {{.text = "t", .done = true}, "it was over before its first turn"},
      {{.text = "t", .correct = true}, "it was correct before its first turn"},
      {{.text = "t", .reward = 5.0}, "it paid a reward before its first turn"},
      {{.text = "t", .components = {0.0, -1.0}}, "it paid a reward before its first turn"},
      {{.text = "t", .reward = 0.0, .correct = false, .components = {0.0}}, ""}};
  for (const auto& [answer, reason] : rows) {
    Conversation talk({.id = "x"}, kWide, {});
    EXPECT_EQ(talk.begin(answer), reason.empty() ? "t" : "");
    EXPECT_EQ(talk.over(), !reason.empty()) << reason;
    EXPECT_EQ(talk.lost_start() ? talk.lost_start()->reason : "", reason);
  }
}

TEST_F(Played, APromptMayLeaveNoRoom) {
  Conversation talk = begun({.turns = 2, .sampled = 20, .all = 0});
  EXPECT_TRUE(talk.over());
  EXPECT_EQ(talk.finish(), FinishReason::length);
}

TEST_F(Played, ATurnMayHaveALimitOfItsOwn) {
  Conversation talk = begun({.turns = 3, .sampled = 7, .all = 40, .turn = 4});
  EXPECT_EQ(talk.room(), 4);
  ASSERT_TRUE(says(talk, "1234"));
  EXPECT_EQ(talk.take({.text = "no"}, texts_).most, 3);
}

TEST_F(Played, WhatWasGivenBelongsToTheFirstAction) {
  Conversation talk = begun(kWide, "12");
  EXPECT_EQ(talk.room(), 18);
  ASSERT_TRUE(says(talk, "3"));
  EXPECT_THAT(talk.talk().actions, ElementsAre("123"));
  ASSERT_FALSE(talk.take({.text = "no"}, texts_).over);
  ASSERT_TRUE(says(talk, "4"));
  EXPECT_THAT(talk.talk().actions, ElementsAre("123", "4"));
}

TEST_F(Played, WithoutAStateWhatWasSaidLastIsTheState) {
  Conversation talk({.id = "x"}, {}, {});
  (void)talk.begin({.text = "shown"});
  talk.limit(kWide);
  ASSERT_TRUE(says(talk, "1"));
  ASSERT_FALSE(talk.take({.text = "no"}, texts_).over);
  ASSERT_TRUE(says(talk, "2"));
  EXPECT_EQ(talk.turns().at(0).facts.state, fact_hash("shown"));
  EXPECT_EQ(talk.turns().at(1).facts.state, fact_hash("no"));
}

TEST_F(Played, AForkSharesTurnsAndTheStateAfterThem) {
  Conversation talk = begun({.turns = 3, .sampled = 20, .all = 40, .turn = 5});
  ASSERT_TRUE(says(talk, "12"));
  const auto first = talk.take({.state = "s1", .text = "no"}, texts_);
  ASSERT_TRUE(says(talk, "345"));
  ASSERT_TRUE(talk.take({.state = "s2", .text = "yes", .done = true}, texts_).over);

  const Conversation at_reply = talk.forked(2, "a", {7, 8});
  EXPECT_FALSE(at_reply.over());
  EXPECT_EQ(at_reply.turns().size(), 1U);
  EXPECT_EQ(at_reply.talk().state, "s1");
  EXPECT_THAT(at_reply.talk().said, ElementsAre("shown", "no"));
  EXPECT_EQ(at_reply.talk().seeds.turns, 8U);
  EXPECT_EQ(at_reply.room(), 5);

  Conversation within = talk.forked(4, "b", {7, 9});
  EXPECT_EQ(within.room(), 3) << "two tokens of the turn are there";
  std::vector<std::int32_t> sampled = tokens("1234");
  sampled.push_back(tokens("9").front());
  ASSERT_TRUE(within.hear(sampled, 2, true, texts_));
  EXPECT_THAT(within.talk().actions, ElementsAre("12", "349"));
  EXPECT_FALSE(within.take({.state = "s3", .text = "no"}, texts_).over);
  EXPECT_EQ(within.room(), std::min<std::int64_t>(5, 20 - 5));

  const Conversation from_start = talk.forked(1, "c", {7, 9});
  EXPECT_TRUE(from_start.talk().actions.empty());
  EXPECT_EQ(from_start.talk().state, "s0");
  EXPECT_EQ(first.most, 5);
}

}  // namespace
}  // namespace rollcall::run
