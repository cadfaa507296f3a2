// The rules by which rollouts fork: pure, never above what is left, places ascending; and what each
// of them promises. Where the section of a run file makes no sense, it is refused.
#include "run/generation/forks/forks.hpp"

#include "base/errors/error.hpp"
#include "base/errors/faults.hpp"
#include "kernels/kernel_set.hpp"
#include "run/generation/forks/rules.hpp"
#include "run/start/fork_checks.hpp"
#include "run/step/columns/fork_columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

namespace rollcall::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

model::DecodedSequence sampled(std::vector<float> entropy) {
  model::DecodedSequence made;
  made.tokens.resize(entropy.size());
  made.likeliest.assign(entropy.size(), 0.9F);
  made.runner_up.assign(entropy.size(), 0.05F);
  made.columns.logprob.assign(entropy.size(), -0.5F);
  made.columns.entropy = std::move(entropy);
  return made;
}

/// A sequence of which nothing but its length is known.
model::DecodedSequence random_sequence(std::mt19937& engine, std::size_t length) {
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  model::DecodedSequence made = sampled(std::vector<float>(length));
  for (std::size_t t = 0; t < length; ++t) {
    made.columns.entropy[t] = engine() % 4 == 0 ? 0.0F : 3 * uniform(engine);
    made.likeliest[t] = 0.3F + 0.3F * uniform(engine);
    made.runner_up[t] = made.likeliest[t] * uniform(engine);
  }
  return made;
}

RunConfig with(const std::string& rule) {
  RunConfig config;
  config.environment.forks = rule;
  config.sampling.vocab_size = 100;
  return config;
}

/// Without the vocabulary's size entropies would stay in nats, and the rule would fork elsewhere.
TEST(Forks, TheVocabularyIsKnownWhenARuleIsMade) {
  RunConfig config = with("after_reply");
  config.sampling.vocab_size = 0;
  EXPECT_THROW(make_fork_rule(config), std::logic_error);
}

TEST(Forks, RulesArePureAscendAndStayWithinWhatIsLeft) {
  std::mt19937 engine(3);
  for (const auto& name : fork_rule_names()) {
    const auto rule = make_fork_rule(with(name)), again = make_fork_rule(with(name));
    std::set<std::size_t> counts;
    for (int round = 0; round < 200; ++round) {
      const std::size_t begin = engine() % 3 == 0 ? 0 : engine() % 20,
                        end = begin + 1 + engine() % 30;
      const auto so_far = random_sequence(engine, end);
      const auto left = std::uint32_t(engine() % 6);
      const std::uint64_t address = engine();
      const auto places = rule->places(so_far, begin, end, left, address);
      EXPECT_EQ(again->places(so_far, begin, end, left, address), places) << name;
      EXPECT_LE(places.size(), left) << name;
      EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << name;
      for (const std::size_t place : places) {
        EXPECT_TRUE(place >= begin && place < end) << name;
        EXPECT_GT(place, 0U) << name << ": nothing would be shared";
      }
      counts.insert(places.size());
    }
    EXPECT_GT(counts.size(), 1U) << name << " forks at times and at others does not";
  }
}

TEST(Forks, AfterReplyForksWhereEntropyHasRisen) {
  const auto rule = make_after_reply({.tokens = 2, .weight = 1.0, .share = 0.5});
  const auto risen = sampled({0, 0, 5, 2, 2, 5}), fallen = sampled({2, 2, 5, 0, 0, 5});
  int forks = 0;
  for (std::uint64_t address = 0; address < 100; ++address) {
    EXPECT_THAT(rule->places(risen, 3, 6, 1, address), ElementsAre(3));
    EXPECT_THAT(rule->places(fallen, 3, 6, 1, address), IsEmpty());
    EXPECT_THAT(rule->places(risen, 0, 3, 1, address), IsEmpty()) << "of no reply";
    EXPECT_THAT(rule->places(risen, 3, 6, 0, address), IsEmpty());
    forks += rule->places(sampled({1, 1, 1, 1}), 2, 4, 1, address).empty() ? 0 : 1;
  }
  EXPECT_TRUE(forks > 30 && forks < 70) << forks << " of 100 where entropy stays as it was";
}

/// An entropy of log 100 more counts as 1.
TEST(Forks, AfterReplyCountsEntropyByTheVocabulary) {
  const auto rule = make_fork_rule(with("after_reply"));
  const float all = std::log(100.0F);
  int forks = 0;
  for (std::uint64_t address = 0; address < 400; ++address)
    forks += rule->places(sampled({0, all}), 1, 2, 1, address).empty() ? 0 : 1;
  EXPECT_NEAR(forks / 400.0, 0.7, 0.08) << "u - 0.2 is at most 0.5";
}

/// M = 2 rollouts with N = 3 places and B = 2 continuations each are 14 leaves.
TEST(Forks, TopEntropyBeginsTwiceAtEachOfTheHighestPlaces) {
  const auto rule = make_top_entropy({.continuations = 2});
  const auto so_far = sampled({9, 1, 3, 0, 2, 4});
  EXPECT_THAT(rule->places(so_far, 0, 6, 6, 0), ElementsAre(2, 2, 4, 4, 5, 5));
  EXPECT_THAT(rule->places(so_far, 0, 6, 3, 0), ElementsAre(2, 5, 5));
  EXPECT_THAT(rule->places(so_far, 0, 6, 100, 0), ElementsAre(1, 1, 2, 2, 4, 4, 5, 5))
      << "neither where nothing is shared nor where nothing would differ";
  EXPECT_THAT(rule->places(sampled({1, 1, 1}), 0, 3, 2, 0), ElementsAre(1, 1)) << "of equals";
}

TEST(Forks, RunnerUpForksWhereTwoTokensAreNearlyAsProbable) {
  const auto rule = make_runner_up({});
  auto so_far = sampled({1, 1, 1, 1, 1});
  so_far.likeliest = {0.45F, 0.45F, 0.8F, 0.3F, 0.5F};
  so_far.runner_up = {0.40F, 0.40F, 0.1F, 0.2F, 0.4F};
  EXPECT_THAT(rule->places(so_far, 0, 5, 9, 0), ElementsAre(1, 4));
  EXPECT_THAT(rule->places(so_far, 0, 5, 1, 0), ElementsAre(1));
  EXPECT_THAT(make_runner_up({.tokens = 4})->places(so_far, 0, 5, 9, 0), ElementsAre(1));
}

TEST(Forks, EveryTurnForksWhereATurnBegins) {
  const auto rule = make_every_turn();
  EXPECT_THAT(rule->places(sampled({1, 1, 1}), 2, 3, 4, 0), ElementsAre(2));
  EXPECT_THAT(rule->places(sampled({1, 1, 1}), 0, 3, 4, 0), IsEmpty());
}

TEST(Forks, HalfOfAGroupForksUnlessItIsSaid) {
  RunConfig config = with("top_entropy");
  const auto unforked = [&](std::uint32_t count) {
    return unforked_of(config, {.id = {}, .count = count});
  };
  EXPECT_EQ(unforked(8), 4U);
  EXPECT_EQ(unforked(5), 3U);
  EXPECT_EQ(unforked(1), 0U) << "which is all";
  config.environment.unforked = 2;
  EXPECT_EQ(unforked(14), 2U);
  EXPECT_EQ(unforked(2), 0U);
  EXPECT_EQ(unforked_of(config, {.id = {}, .count = 2, .samples = {3, 5}}), 0U);
  EXPECT_EQ(unforked_of(config, {.id = {}, .count = 8, .from = {DerivedKind::error}}), 0U);
  config.environment.forks.clear();
  EXPECT_EQ(unforked(8), 0U);
}

/// Rollouts of samples 0, 2 and 3 in the second group of a step, whose first has two.
TEST(Forks, ColumnsSayFromWhichRolloutOfTheStepEachWasForked) {
  Group group;
  for (const std::uint32_t sample : {0U, 2U, 3U}) {
    Rollout rollout;
    rollout.sample = sample;
    group.rollouts.push_back(std::move(rollout));
  }
  group.rollouts[1].parent = 0, group.rollouts[1].fork_token = 5;
  group.rollouts[2].parent = 1, group.rollouts[2].fork_token = 7;
  method::StepColumns columns;
  columns.reward = {0.0, 0.0};
  append_forks(group, columns);
  EXPECT_THAT(columns.named.at(method::column::parent), ElementsAre(-1, 2, -1))
      << "a parent that left the step is none";
  EXPECT_THAT(columns.named.at(method::column::fork_token), ElementsAre(-1, 5, -1));
}

std::string refusal(const RunConfig& config) {
  Faults faults;
  check_forks(config, faults);
  try {
    faults.require_none();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(Forks, RulesThatCouldNeverForkAreRefused) {
  EXPECT_EQ(refusal(with("")), "");
  EXPECT_EQ(refusal(with("top_entropy")), "");
  EXPECT_THAT(refusal(with("top_entropi")), HasSubstr("top_entropy"));
  for (const char* rule : {"after_reply", "every_turn"}) {
    RunConfig config = with(rule);
    EXPECT_THAT(refusal(config), HasSubstr("no rollout would fork")) << rule;
    config.task.name = "key_door";
    EXPECT_EQ(refusal(config), "") << rule;
    config.environment.max_turns = 1;
    EXPECT_THAT(refusal(config), HasSubstr("environment.max_turns 1")) << rule;
  }
  RunConfig config = with("top_entropy");
  config.environment.max_turns = 1;
  EXPECT_EQ(refusal(config), "") << "it forks within a turn";
  config.train.rollouts_per_prompt = 1;
  EXPECT_THAT(refusal(config), HasSubstr("train.rollouts_per_prompt 1"));
  config = with("top_entropy"), config.second_pass.kind = "pool";
  EXPECT_THAT(refusal(config), HasSubstr("second_pass.kind pool"));
  config = with("runner_up");
  EXPECT_EQ(refusal(config), "");
  config.run.numerics = kernels::kCudaBf16Sliced8;
  EXPECT_THAT(refusal(config), HasSubstr("CUDA"));
}

}  // namespace
}  // namespace rollcall::run
