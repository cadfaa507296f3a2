// Shards and scores: what is written is read, and nothing else is.
#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "io/sample_run.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace rollcall::io::test {
namespace {

namespace fs = std::filesystem;

TEST(ShardFile, ReadsWhatWasWritten) {
  const RunFolder run;
  EXPECT_TRUE(rc::check([&](std::uint32_t seed, std::uint16_t step) {
    const Sample s = sample(seed, step, *rc::gen::inRange<std::size_t>(0, 7),
                            *rc::gen::inRange(0U, 3U), 5, Purpose(*rc::gen::inRange(0, 3)));
    const PackInput files = *rc::gen::arbitrary<bool>() ? write(run, s) : write_in_one(run, s);
    std::vector<ShardPrompt> prompts;
    const RolloutShard shard = read_shard(run, files.shard, &prompts);
    RC_ASSERT(shard.purpose == s.shard.purpose && shard.step == s.shard.step &&
              shard.round == s.shard.round && shard.producer == s.shard.producer);
    RC_ASSERT(shard.policy == s.shard.policy && shard.temperature == s.shard.temperature);
    RC_ASSERT(same(shard.groups, s.shard.groups));
    RC_ASSERT(same(prompts, s.prompts));
    const ScoredShard scores = read_scores(run, files.scores);
    RC_ASSERT(scores.purpose == s.scores.purpose && scores.step == s.scores.step &&
              scores.round == s.scores.round && scores.producer == s.scores.producer);
    RC_ASSERT(scores.component_names == s.scores.component_names);
    RC_ASSERT(scores.scores.size() == s.scores.scores.size());
    for (std::size_t g = 0; g < scores.scores.size(); ++g)
      RC_ASSERT(same(scores.scores[g], s.scores.scores[g]));
  }));
}

TEST(ShardFile, EqualContentGivesEqualBytes) {
  const RunFolder run;
  const PackInput first = write(run, sample(1, 2, 3));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 would note the second
  const PackInput second = write(run, sample(1, 2, 3));
  EXPECT_EQ(first.shard.checksum, second.shard.checksum);
  EXPECT_EQ(first.scores.checksum, second.scores.checksum);
}

/// Given tokens have no log-prob, and that a turn trains behind another prompt is not stored.
TEST(ShardFile, GivenTurnsKeepTheirGaps) {
  const RunFolder run;
  Sample s = sample(1, 2, 1);
  Rollout& rollout = s.shard.groups[0].rollouts[0];
  forget_conversation(s.shard.groups[0]);
  constexpr float none = std::numeric_limits<float>::quiet_NaN();
  rollout.turns = {Turn{.role = Role::prompt, .tokens = {1, 2}},
                   Turn{.role = Role::policy,
                        .tokens = {3, 4},
                        .columns = {.logprob = {none, none}, .entropy = {none, none}},
                        .policy_version = {0, 0}}};
  rollout.facts = {TurnFacts{}, TurnFacts{.flags = turn_flag::given | turn_flag::moved}};
  const RolloutShard read = read_shard(run, write(run, s).shard);
  const Rollout& back = read.groups[0].rollouts[0];
  EXPECT_EQ(back.turns[1].tokens, rollout.turns[1].tokens);
  EXPECT_TRUE(std::isnan(back.turns[1].columns.logprob[0]) &&
              std::isnan(back.turns[1].columns.entropy[1]));
  EXPECT_EQ(back.turns[1].policy_version, rollout.turns[1].policy_version);
  ASSERT_EQ(back.facts.size(), 2U);
  EXPECT_EQ(back.facts[1].flags, turn_flag::given);
  rollout.facts.pop_back();
  EXPECT_THROW(draft_shard(s.shard, s.prompts, identity()), std::logic_error)
      << "facts of some turns";
}

}  // namespace
}  // namespace rollcall::io::test
