// Generation: the log-probs are training's bits, whatever is decoded together; stop rule, limits,
// wrong inputs.
#include "model/decode/decode.hpp"
#include "base/errors/error.hpp"
#include "model/small_models.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <thread>

namespace rollcall::model::testing {
namespace {

DecodeRequest request_of(std::vector<std::int32_t> prompt, std::uint64_t address,
                         std::uint32_t count) {
  return {.prompt = std::move(prompt),
          .seed = 5,
          .step = 2,
          .prompt_address = address,
          .first_sample = 0,
          .count = count};
}

std::vector<DecodeRequest> random_requests(const ModelConfig& config, std::size_t count,
                                           std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 3);
  std::vector<DecodeRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    const MicroBatch micro_batch =
        random_micro_batch(config, {std::int64_t(1 + stream.below(2 * i, 20))}, seed + i);
    requests.push_back(
        request_of(micro_batch.tokens, i, std::uint32_t(stream.below(2 * i + 1, 5))));
  }
  return requests;
}

/// What training says of a decoded sequence.
Columns rescored(const PolicyModel& policy, const DecodeRequest& request,
                 const DecodedSequence& sequence, double temperature) {
  MicroBatch micro_batch{.tokens = request.prompt, .offsets = {0}};
  for (const std::int32_t token : sequence.tokens) {
    micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
    micro_batch.tokens.push_back(token);
  }
  micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  return forward(policy, micro_batch, temperature);
}

TEST(Decode, LogProbsAreTheBitsOfTheTrainingForward) {
  const bool ok = rc::check([] {
    const Family family = *rc::gen::element(Family::llama, Family::qwen2, Family::qwen3);
    const ModelConfig config = small_config(family);
    // Sampled by one kernel set, scored by another of the same numerics.
    const auto sets =
        kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8));
    const auto weights = random_weights(config, *rc::gen::inRange<std::uint64_t>(0, 50));
    const PolicyModel policy(config, weights, {}, *rc::gen::elementOf(sets)),
        scorer(config, weights, {}, *rc::gen::elementOf(sets));
    const auto requests = random_requests(config, *rc::gen::inRange<std::size_t>(1, 6),
                                          *rc::gen::inRange<std::uint64_t>(0, 1000));
    SamplingParams sampling{.temperature = *rc::gen::element(0.0, 0.7, 1.0),
                            .top_k = *rc::gen::element<std::int64_t>(0, 5),
                            .max_new_tokens = 20};
    const auto results = decode(policy, requests, sampling, {});
    for (std::size_t r = 0; r < requests.size(); ++r) {
      RC_ASSERT(results[r].size() == requests[r].count);
      for (const DecodedSequence& sequence : results[r]) {
        const Columns columns = rescored(scorer, requests[r], sequence, sampling.temperature);
        RC_ASSERT(columns.logprob == sequence.columns.logprob);
        RC_ASSERT(columns.entropy == sequence.columns.entropy);
        RC_ASSERT(sequence.stopped == is_end_token(config, sequence.tokens.back()));
        RC_ASSERT(sequence.stopped || sequence.tokens.size() == 20U);
      }
    }
  });
  EXPECT_TRUE(ok);
}

TEST(Decode, AGivenBeginningCountsForLimitAndStopRule) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const SamplingParams sampling{.max_new_tokens = 12};
  auto plain = std::vector{request_of({1, 2, 3, 4, 5}, 7, 4)}, given = plain;
  given[0].given = 3;
  const auto whole = decode(policy, plain, sampling, {})[0],
             rest = decode(policy, given, sampling, {})[0];
  for (std::size_t i = 0; i < 4; ++i) {  // the same context and random numbers: only the limit
                                         // differs
    const std::size_t length = std::min<std::size_t>(whole[i].tokens.size(), 9);
    EXPECT_EQ(rest[i].tokens,
              std::vector<std::int32_t>(whole[i].tokens.begin(),
                                        whole[i].tokens.begin() + std::ptrdiff_t(length)));
  }
  std::vector<std::vector<std::int32_t>> seen;
  const StopRule fifth = [&](std::span<const std::int32_t> answer) {
    seen.emplace_back(answer.begin(), answer.end());
    return answer.size() == 5;
  };
  const auto stopped = decode(policy, given, sampling, [&] { return fifth; });
  for (const auto& answer : seen)
    EXPECT_EQ((std::vector<std::int32_t>(answer.begin(), answer.begin() + 3)),
              (std::vector<std::int32_t>{3, 4, 5}));
  for (const auto& sequence : stopped[0])
    EXPECT_TRUE(sequence.stopped && sequence.tokens.size() <= 2);
}

TEST(Decode, TokensDoNotDependOnCompanyOrSplitOrThread) {
  const ModelConfig config = small_config(Family::qwen3);
  const PolicyModel policy(config, random_weights(config, 1), {});
  const SamplingParams sampling{.max_new_tokens = 12};
  const auto requests = random_requests(config, 7, 77);
  const auto together = decode(policy, requests, sampling, {});
  for (std::size_t r = 0; r < requests.size(); ++r) {
    for (std::uint32_t sample = 0; sample < requests[r].count; ++sample) {
      DecodeRequest alone = requests[r];
      alone.first_sample = sample;
      alone.count = 1;
      std::vector<std::vector<DecodedSequence>> result;
      std::jthread([&] { result = decode(policy, std::span(&alone, 1), sampling, {}); }).join();
      EXPECT_EQ(result[0][0].tokens, together[r][sample].tokens);
      EXPECT_EQ(result[0][0].columns.logprob, together[r][sample].columns.logprob);
    }
  }
  // a cache with room for nothing still takes one sequence
  const auto one_at_a_time = decode(policy, requests, sampling, {}, {.cache_bytes = 1});
  const auto by_three = decode(policy, requests, sampling, {}, {.threads = 3});
  for (std::size_t r = 0; r < requests.size(); ++r)
    for (std::uint32_t sample = 0; sample < requests[r].count; ++sample) {
      EXPECT_EQ(one_at_a_time[r][sample].columns.logprob, together[r][sample].columns.logprob);
      EXPECT_EQ(by_three[r][sample].columns.logprob, together[r][sample].columns.logprob);
    }
}

TEST(Decode, MoreSamplesThanSlotsAreServedInTurn) {
  const ModelConfig config = small_config(Family::qwen2);
  const PolicyModel policy(config, random_weights(config, 2), {});
  const SamplingParams sampling{.max_new_tokens = 6};
  const std::vector<DecodeRequest> many = {request_of({3, 4, 5}, 0, 700), request_of({6}, 1, 0),
                                           request_of({7, 8}, 2, 900)};
  const auto all = decode(policy, many, sampling, {});
  DecodeRequest one = many[2];
  one.first_sample = 899;
  one.count = 1;
  EXPECT_TRUE(all[1].empty());
  EXPECT_EQ(all[2][899].tokens, decode(policy, std::span(&one, 1), sampling, {})[0][0].tokens);
  for (const DecodedSequence& sequence : all[0]) EXPECT_FALSE(sequence.tokens.empty());
}

TEST(Decode, StopRuleEndsASequenceAndSeesEveryToken) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const std::vector<DecodeRequest> requests = {request_of({2, 9}, 0, 8)};
  // Each sequence has a rule of its own, which counts what it is shown.
  const auto stopped = decode(policy, requests, {.max_new_tokens = 30}, []() -> StopRule {
    return [asked = std::size_t(0)](std::span<const std::int32_t> tokens) mutable {
      return ++asked == tokens.size() && asked == 4;
    };
  });
  for (const DecodedSequence& sequence : stopped[0]) {
    EXPECT_TRUE(sequence.stopped);
    EXPECT_LE(sequence.tokens.size(), 4U);
    EXPECT_TRUE(sequence.tokens.size() == 4 || is_end_token(config, sequence.tokens.back()));
  }
}

TEST(Decode, WrongInputsAreNamed) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const auto run = [&](std::vector<std::int32_t> prompt, SamplingParams sampling) {
    const std::vector<DecodeRequest> requests = {request_of(std::move(prompt), 0, 1)};
    decode(policy, requests, sampling, {});
  };
  EXPECT_THROW(run({}, {}), InputError);
  EXPECT_THROW(run({23}, {.max_new_tokens = 4}), InputError);
  EXPECT_THROW(run({-1}, {.max_new_tokens = 4}), InputError);
  EXPECT_THROW(run({1, 2}, {.max_new_tokens = 63}), InputError);
  EXPECT_NO_THROW(run({1, 2}, {.max_new_tokens = 62}));
  EXPECT_THROW(run({1}, {.max_new_tokens = 0}), ConfigError);
  EXPECT_THROW(run({1}, {.temperature = -1.0, .max_new_tokens = 4}), ConfigError);
  EXPECT_THROW(run({1}, {.top_p = 0.0, .max_new_tokens = 4}), ConfigError);
}

}  // namespace
}  // namespace rollcall::model::testing
