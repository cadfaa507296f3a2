// The two likeliest tokens of each place, as decoding reports them where it is asked to.
#include "model/decode/decode.hpp"
#include "model/small_models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace rollcall::model::testing {
namespace {

DecodeRequest request() {
  DecodeRequest made;
  made.prompt = {2, 3, 4}, made.seed = 5, made.count = 3;
  return made;
}

std::vector<DecodedSequence> decoded(const PolicyModel& policy, const SamplingParams& sampling,
                                     int threads = 1) {
  const DecodeRequest asked = request();
  return decode(policy, std::span(&asked, 1), sampling, {}, {.threads = threads})[0];
}

/// The probabilities of all tokens below `ids` behind these, descending.
std::vector<double> probabilities(const PolicyModel& policy, std::vector<std::int32_t> behind,
                                  std::int32_t ids, double temperature) {
  std::vector<double> all;
  behind.push_back(0);
  for (std::int32_t id = 0; id < ids; ++id) {
    behind.back() = id;
    const auto length = std::int64_t(behind.size());
    const MicroBatch micro_batch{.tokens = behind, .offsets = {0, length}, .targets = {length - 1}};
    all.push_back(std::exp(double(forward(policy, micro_batch, temperature).logprob[0])));
  }
  std::sort(all.begin(), all.end(), std::greater());
  return all;
}

TEST(Likeliest, TheyAreThoseOfTheWholeDistribution) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  for (const std::int64_t ids : {std::int64_t(0), std::int64_t(17)}) {
    SamplingParams sampling{.temperature = 0.7, .max_new_tokens = 4, .vocab_size = ids};
    sampling.two_likeliest = true;
    for (const auto& sequence : decoded(policy, sampling)) {
      ASSERT_EQ(sequence.likeliest.size(), sequence.tokens.size());
      ASSERT_EQ(sequence.runner_up.size(), sequence.tokens.size());
      std::vector<std::int32_t> behind = request().prompt;
      for (std::size_t t = 0; t < sequence.tokens.size(); ++t) {
        const auto all = probabilities(
            policy, behind, std::int32_t(ids > 0 ? ids : config.vocab_size), sampling.temperature);
        EXPECT_NEAR(sequence.likeliest[t], all[0], 1e-5);
        EXPECT_NEAR(sequence.runner_up[t], all[1], 1e-5);
        behind.push_back(sequence.tokens[t]);
      }
    }
  }
}

TEST(Likeliest, AskingChangesNothingElse) {
  const ModelConfig config = small_config(Family::qwen3);
  const PolicyModel policy(config, random_weights(config, 4), {});
  for (const SamplingParams& plain :
       {SamplingParams{.max_new_tokens = 8}, SamplingParams{.top_k = 5, .max_new_tokens = 8},
        SamplingParams{.top_k = 5, .max_new_tokens = 8, .logprob = "kept"}}) {
    SamplingParams asking = plain;
    asking.two_likeliest = true;
    const auto without = decoded(policy, plain), with = decoded(policy, asking),
               threads = decoded(policy, asking, 2);
    for (std::size_t i = 0; i < with.size(); ++i) {
      EXPECT_TRUE(without[i].likeliest.empty() && without[i].runner_up.empty());
      EXPECT_EQ(with[i].tokens, without[i].tokens);
      EXPECT_EQ(with[i].columns.logprob, without[i].columns.logprob);
      EXPECT_EQ(with[i].columns.entropy, without[i].columns.entropy);
      EXPECT_EQ(with[i].runner_up, threads[i].runner_up);
      EXPECT_EQ(with[i].runner_up.size(), with[i].tokens.size());
    }
  }
}

}  // namespace
}  // namespace rollcall::model::testing
