// Stored conversations are played again: what is equal, and what is named where it is not.
#include "run/start/replayed_conversations.hpp"
#include "run/generation/conversation_seeds.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace rollcall::run {
namespace {

using environment::Answer;
using testing::HasSubstr;

constexpr std::uint64_t kSeed = 5;

/// Repeats what was said with a digit of its own, pays a quarter a letter, and ends at "3".
class Echo final : public environment::Environment {
 public:
  const environment::Traits& traits() const override { return traits_; }
  Answer start(const Prompt&, const std::string&, std::uint64_t seed) const override {
    return {.state = fmt::format("{}", seed % 97), .text = "1"};
  }
  Answer step(const Prompt&, const std::string& state, std::string_view action, std::uint64_t seed,
              std::uint32_t turn) const override {
    return {.state = fmt::format("{} {}", state, action),
            .text = fmt::format("{}{}{}", seed % 10, seed / 10 % 10, action),
            .reward = 0.25 * double(action.size()),
            .done = action == "3",
            .flags = turn == 1 ? turn_flag::repeated : 0};
  }

 private:
  environment::Traits traits_{};
};

class Replayed : public testing::Test {
 protected:
  Replayed() {
    archived_.group.id = {3, {7}, 0};
    archived_.group.stream_prompt = 1234;
  }

  /// A rollout with these actions. `parent`: it shares so many actions with that one.
  Rollout& add(std::uint32_t sample, const std::vector<std::string>& actions,
               const Rollout* parent = nullptr, std::size_t shared = 0) {
    Group& group = archived_.group;
    Rollout rollout{.sample = sample, .turns = {{Role::prompt, {1, 2}}}, .text = {}};
    const auto seeds_of = [&](std::uint32_t of) {
      return conversation_seeds(kSeed, {Split::train, group.id, group.from, 1234}, of);
    };
    const environment::Seeds own = seeds_of(sample);
    const Echo echo;
    Conversation talk({.id = "train/3/7/0/0",
                       .prompt = &prompt_,
                       .seeds = parent != nullptr ? seeds_of(parent->sample) : own},
                      {.turns = std::int64_t(actions.size()), .sampled = 100, .all = 1000}, {});
    talk.begin(echo.start(prompt_, "", own.start));
    std::vector<std::int32_t> sampled;
    for (std::size_t k = 0; k < actions.size(); ++k) {
      if (parent != nullptr && k == shared) {
        rollout.parent = parent->sample, rollout.fork_token = std::int64_t(sampled.size());
        talk = talk.forked(sampled.size(), "train/3/7/0/0", own);
      }
      const std::size_t begin = sampled.size();
      const auto said = format_.tokenizer()->encode(actions[k]);
      sampled.insert(sampled.end(), said.begin(), said.end());
      EXPECT_TRUE(talk.hear(sampled, begin, true, texts_));
      const auto turn = std::uint32_t(k);
      talk.take(echo.step(prompt_, *talk.talk().state, actions[k],
                          environment::step_seed(talk.talk().seeds, turn), turn),
                texts_);
    }
    EXPECT_TRUE(talk.over());
    rollout.finish = talk.finish();
    rollout.facts.emplace_back();
    for (const PlayedTurn& turn : talk.turns()) {
      rollout.turns.push_back({Role::policy,
                               {sampled.begin() + std::ptrdiff_t(turn.begin),
                                sampled.begin() + std::ptrdiff_t(turn.end)}});
      rollout.facts.push_back(turn.facts);
      rollout.turns.push_back({Role::environment, turn.said});
      rollout.facts.push_back({.state = turn.state_after});
    }
    group.rollouts.push_back(std::move(rollout));
    return group.rollouts.back();
  }

  ReplayedConversations::Found replayed(environment::Partner& partner) const {
    ReplayedConversations conversations(kSeed, texts_, partner);
    conversations.add(archived_);
    return conversations.finish();
  }
  ReplayedConversations::Found replayed() const {
    const auto partner = environment::at_once(std::make_unique<Echo>());
    return replayed(*partner);
  }
  /// The first difference once `change` is made to the last rollout.
  template <class Change>
  std::string after(const Change& change) {
    const Rollout before = archived_.group.rollouts.back();
    change(archived_.group.rollouts.back());
    const auto found = replayed();
    EXPECT_EQ(found.different, 1U);
    EXPECT_THAT(found.first, HasSubstr("train step 3, prompt 7, draw 0, sample 4, "));
    archived_.group.rollouts.back() = before;
    return found.first;
  }

  const text::PromptFormat format_{{}, ""};
  const text::TurnTexts texts_{format_, "user", ""};
  const Prompt prompt_{};
  io::ArchivedGroup archived_{
      .purpose = Purpose::train, .step = 3, .group = {}, .prompt = {}, .scores = {}};
};

TEST_F(Replayed, EqualAtOnceAndLate) {
  add(0, {"12", "3"});
  add(1, {"1", "2", "12"});
  add(4, {"22"});
  EXPECT_EQ(archived_.group.rollouts[0].finish, FinishReason::stop);
  EXPECT_EQ(archived_.group.rollouts[1].finish, FinishReason::turns);
  const auto late = environment::on_threads(std::make_unique<Echo>(), 2);
  for (const auto& found : {replayed(), replayed(*late)}) {
    EXPECT_EQ(found.equal, 3U);
    EXPECT_EQ(found.different + found.lost, 0U);
    EXPECT_EQ(found.first, "");
  }
}

TEST_F(Replayed, TheFirstDifferenceIsNamed) {
  add(0, {"12", "3"});
  add(4, {"1", "22", "12"});
  EXPECT_THAT(after([](Rollout& r) { r.facts[3].reward = 2.0; }),
              HasSubstr("turn 1: reward 0.5, and the archive has 2"));
  EXPECT_THAT(after([](Rollout& r) { r.facts[3].flags = 0; }),
              HasSubstr("turn 1: flags 16, and the archive has 0"));
  EXPECT_THAT(after([](Rollout& r) { r.facts[1].state ^= 1U; }), HasSubstr("turn 0: state "));
  EXPECT_THAT(after([](Rollout& r) { r.facts[6].state ^= 1U; }),
              HasSubstr("turn 2: state afterwards "));
  EXPECT_THAT(after([](Rollout& r) { r.turns[2].tokens.pop_back(); }),
              HasSubstr("turn 0: the policy is told tokens "));
  EXPECT_THAT(after([](Rollout& r) { r.turns[3].tokens.pop_back(); }),
              HasSubstr("turn 1: action "));
  EXPECT_THAT(after([](Rollout& r) { r.finish = FinishReason::stop; }),
              HasSubstr("turn 2: the conversation goes on, and in the archive it is over"));
}

TEST_F(Replayed, AForkWasAnsweredAsItsParentUpToWhereItBegan) {
  const Rollout parent = add(0, {"1", "2", "12"});
  add(4, {"1", "22", "1"}, &parent, 1);
  EXPECT_EQ(replayed().equal, 2U);
  EXPECT_THAT(after([](Rollout& r) { r.parent = r.fork_token = -1; }),
              HasSubstr("turn 0: the policy is told tokens "));
}

TEST_F(Replayed, ATurnThatALimitCutWasNotAnswered) {
  Rollout& cut = add(4, {"1", "22"});
  cut.turns.pop_back(), cut.facts.pop_back();
  cut.facts.back() = {.state = cut.facts.back().state};
  cut.finish = FinishReason::length;
  EXPECT_EQ(replayed().equal, 1U);
  EXPECT_THAT(after([](Rollout& r) { r.facts[3].state ^= 1U; }), HasSubstr("turn 1: state "));
}

TEST_F(Replayed, WhatNoEnvironmentAnsweredIsLeftOut) {
  add(0, {"3"});
  add(1, {"3"}).finish = FinishReason::lost;
  Rollout& answer = add(4, {"3"});
  answer.turns.pop_back(), answer.facts.clear();
  const auto found = replayed();
  EXPECT_EQ(found.equal, 1U);
  EXPECT_EQ(found.lost, 1U);
  EXPECT_EQ(found.different, 0U);
}

}  // namespace
}  // namespace rollcall::run
