// What the archive's benchmarks write: a step of random rollouts with scores.
#pragma once

#include "base/numbers/random.hpp"
#include "io/shard_file.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::bench {

inline constexpr std::size_t kGroups = 64, kSamples = 8, kPromptTokens = 12;
inline const io::RunIdentity kIdentity{
    "bench", std::string(64, 'a'), std::string(64, 'b'), "0.1.0", "", 1};

struct Step {
  RolloutShard shard;
  std::vector<io::ShardPrompt> prompts;
  ScoredShard scores;
};

/// kGroups groups of kSamples rollouts: a prompt and `tokens` sampled tokens each.
inline Step make_step(std::uint64_t step, std::size_t tokens) {
  const RandomStream random(1, RandomPurpose::test, step);
  Step s;
  s.shard = {.purpose = Purpose::train,
             .step = step,
             .round = 0,
             .producer = 0,
             .policy = {step},
             .temperature = 1.0F,
             .groups = {}};
  s.scores = {.purpose = Purpose::train,
              .step = step,
              .round = 0,
              .producer = 0,
              .component_names = {"correct", "format"},
              .scores = {}};
  for (std::uint64_t g = 0; g < kGroups; ++g) {
    Group group{.id = {step, {g}, 0}, .level = 3, .rollouts = {}};
    auto& scores = s.scores.scores.emplace_back();
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      Turn prompt{.role = Role::prompt, .tokens = std::vector<std::int32_t>(kPromptTokens, 5)};
      Turn policy{.role = Role::policy,
                  .tokens = {},
                  .policy_version = std::vector<std::uint64_t>(tokens, step)};
      for (std::size_t t = 0; t < tokens; ++t) {
        const std::uint64_t bits = random.bits((g * kSamples + i) * tokens + t);
        policy.tokens.push_back(std::int32_t(bits % 20)),
            policy.columns.logprob.push_back(-float(bits >> 40)),
            policy.columns.entropy.push_back(float(bits >> 44));
      }
      group.rollouts.push_back({.sample = i,
                                .finish = FinishReason::stop,
                                .turns = {prompt, policy},
                                .text = std::string(tokens, '7')});
      scores.push_back(
          {.components = {1.0, 0.0}, .reward = 1.0, .correct = true, .answer = "7 7 7"});
    }
    s.prompts.push_back({"sort: 7 3 1 9", "1 3 7 9"});
    s.shard.groups.push_back(std::move(group));
  }
  return s;
}

}  // namespace rollcall::bench
