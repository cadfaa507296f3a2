// Draws in the place of a text's tokens: how often which token comes, and that several tokens of a
// place have the columns and the gradient that they have apart.
#include "model/small_models.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rollcall::model::testing {
namespace {

/// Two or three other tokens for two of three targets, in shares that do not add up to 1.
void miss_some(MicroBatch& micro_batch, const ModelConfig& config, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 5);
  for (std::size_t i = 0; i < micro_batch.targets.size(); ++i) {
    if (i % 3 == 1) continue;
    std::vector<std::int32_t> ids;
    for (std::uint64_t k = 0; k < 3; ++k)
      ids.push_back(std::int32_t(stream.below(10 * i + k, std::uint64_t(config.vocab_size))));
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    std::erase(ids, micro_batch.tokens[std::size_t(micro_batch.targets[i])]);
    std::vector<float> shares;
    for (std::size_t k = 0; k < ids.size(); ++k)
      shares.push_back(float(0.1 + 0.2 * stream.uniform(10 * i + 5 + k)));
    micro_batch.missed.put(i, {ids, shares});
  }
}

/// A vocabulary of more than one block of the head's gradient.
ModelConfig wide_config() {
  ModelConfig config = small_config(Family::qwen3);
  config.vocab_size = 4200;
  return config;
}

/// A micro-batch of the beginnings of `micro-batch`, which has no tree, each with a token that its
/// end missed as the only target.
MicroBatch apart(const MicroBatch& micro_batch, const ColumnGradient& derivative,
                 ColumnGradient& of_apart, std::vector<std::pair<std::size_t, float>>& places) {
  MicroBatch out{.tokens = {}, .offsets = {0}, .targets = {}};
  std::size_t sequence = 0;
  for (std::size_t i = 0; i < micro_batch.targets.size(); ++i) {
    while (micro_batch.offsets[sequence + 1] <= micro_batch.targets[i]) ++sequence;
    const auto missed = micro_batch.missed.of(i);
    for (std::size_t k = 0; k < missed.id.size(); ++k) {
      out.tokens.insert(out.tokens.end(),
                        micro_batch.tokens.begin() + micro_batch.offsets[sequence],
                        micro_batch.tokens.begin() + micro_batch.targets[i]);
      out.targets.push_back(std::int64_t(out.tokens.size()));
      out.tokens.push_back(missed.id[k]);
      out.offsets.push_back(std::int64_t(out.tokens.size()));
      of_apart.logprob.push_back(derivative.miss_logprob[i] * missed.share[k]),
          of_apart.entropy.push_back(0.0F);
      places.emplace_back(i, missed.share[k]);
    }
  }
  return out;
}

TEST(MissedTokens, HaveTheColumnsAndTheGradientThatTheyHaveApart) {
  for (const ModelConfig& config :
       {small_config(Family::llama), small_config(Family::qwen2), wide_config()}) {
    const std::vector<float> weights = random_weights(config, 5);
    const PolicyModel policy(config, weights, {});
    const MicroBatch plain = random_micro_batch(config, {9, 3, 12}, 6);
    MicroBatch micro_batch = plain;
    miss_some(micro_batch, config, 8);
    ColumnGradient derivative = random_columns(micro_batch.targets.size(), 7), of_apart;
    const ColumnGradient own = derivative;
    derivative.miss_logprob = random_columns(micro_batch.targets.size(), 9).logprob;
    std::vector<std::pair<std::size_t, float>> places;
    const MicroBatch others = apart(micro_batch, derivative, of_apart, places);
    std::vector<float> expected = gradient_of(policy, plain, 1.3, own);
    Columns seen, of_others;
    const auto more = gradient_of(policy, others, 1.3, of_apart, &of_others);
    std::transform(expected.begin(), expected.end(), more.begin(), expected.begin(), std::plus());
    const auto found = gradient_of(policy, micro_batch, 1.3, derivative, &seen);
    const WeightLayout layout = weight_layout(config);
    for (const Slice& slice : layout.slices) {
      double error = 0.0, norm = 0.0;
      for (auto i = std::size_t(slice.offset); i < std::size_t(slice.offset + slice.count); ++i)
        error += std::pow(double(found[i]) - double(expected[i]), 2),
            norm += std::pow(double(expected[i]), 2);
      EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(norm) + 1e-6) << slice.name;
    }
    std::vector<double> sums(micro_batch.targets.size(), 0.0);
    for (std::size_t i = 0; i < places.size(); ++i)
      sums[places[i].first] += double(places[i].second) * double(of_others.logprob[i]);
    ASSERT_EQ(seen.miss_logprob.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(seen.miss_logprob[i], sums[i], 1e-4) << i;
    const Columns scored = forward(policy, micro_batch, 1.3);
    EXPECT_EQ(scored.miss_logprob, seen.miss_logprob);
    // the target's own columns are what they are alone
    EXPECT_EQ(scored.logprob, forward(policy, plain, 1.3).logprob);
    EXPECT_TRUE(forward(policy, plain, 1.3).miss_logprob.empty());
  }
}

/// Without a derivative by them, missed tokens change no bit.
TEST(MissedTokens, ChangeNothingWhereNothingIsLearntFromThem) {
  const ModelConfig config = small_config(Family::qwen3);
  const PolicyModel policy(config, random_weights(config, 5), {});
  const MicroBatch plain = random_micro_batch(config, {9, 7}, 6);
  MicroBatch micro_batch = plain;
  miss_some(micro_batch, config, 8);
  const ColumnGradient derivative = random_columns(micro_batch.targets.size(), 7);
  EXPECT_EQ(gradient_of(policy, micro_batch, 1.0, derivative),
            gradient_of(policy, plain, 1.0, derivative));
}

TEST(TargetDraws, ComeAsOftenAsTheirTemperatureSays) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const MicroBatch micro_batch = random_micro_batch(config, {5}, 6);
  const std::size_t m = micro_batch.targets.size();
  for (const double temperature : {0.8, 2.0}) {
    constexpr std::int64_t kDraws = 20000;
    const auto drawn = draw_targets(
        policy, micro_batch, 0.8,
        {kDraws, temperature, 0, [](std::size_t target, std::int64_t draw) {
           return RandomStream(4, RandomPurpose::test, 6, target).uniform(std::uint64_t(draw));
         }});
    const auto at = forward(policy, micro_batch, temperature);
    for (std::size_t i = 0; i < m; ++i) {
      const double p = std::exp(double(at.logprob[i]));
      EXPECT_NEAR(drawn.hits[i], p, 5 * std::sqrt(p * (1 - p) / double(kDraws)) + 1e-6) << i;
      EXPECT_NEAR(double(drawn.hits[i]) + drawn.missed.of(i).mass(), 1.0, 1e-5) << i;
    }
    MicroBatch with = micro_batch;
    with.missed = drawn.missed;
    // the same bits as the forward pass of training
    const Columns scored = forward(policy, with, 0.8);
    EXPECT_EQ(scored.logprob, drawn.columns.logprob);
    EXPECT_EQ(scored.entropy, drawn.columns.entropy);
    EXPECT_EQ(scored.miss_logprob, drawn.columns.miss_logprob);
  }
}

/// A draw depends on its address and the policy: not on what stands beside its sequence, nor on the
/// threads.
TEST(TargetDraws, DependOnTheirAddressAlone) {
  const ModelConfig config = small_config(Family::qwen2);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const MicroBatch two = random_micro_batch(config, {8, 11}, 6);
  MicroBatch second{.tokens = {two.tokens.begin() + two.offsets[1], two.tokens.end()},
                    .offsets = {0, two.offsets[2] - two.offsets[1]},
                    .targets = {}};
  std::size_t before = 0;
  for (const std::int64_t target : two.targets) {
    if (target < two.offsets[1]) ++before;
    else second.targets.push_back(target - two.offsets[1]);
  }
  const auto uniform = [](std::size_t place, std::int64_t draw) {
    return RandomStream(4, RandomPurpose::test, 7, place).uniform(std::uint64_t(draw));
  };
  const auto whole = draw_targets(policy, two, 1.0, {50, 1.5, 0, uniform});
  Team team(3);
  TargetDraws part;
  team.lead(on_new_threads, [&] {
    part = MicroBatchRunner(team).draw_targets(
        policy, second, 1.0, {50, 1.5, 0, [&](std::size_t target, std::int64_t draw) {
                                return uniform(before + target, draw);
                              }});
  });
  for (std::size_t i = 0; i < second.targets.size(); ++i) {
    EXPECT_EQ(part.hits[i], whole.hits[before + i]);
    EXPECT_EQ(part.columns.logprob[i], whole.columns.logprob[before + i]);
    EXPECT_EQ(part.columns.entropy[i], whole.columns.entropy[before + i]);
    EXPECT_EQ(part.columns.miss_logprob[i], whole.columns.miss_logprob[before + i]);
    EXPECT_TRUE(std::ranges::equal(part.missed.of(i).id, whole.missed.of(before + i).id));
    EXPECT_TRUE(std::ranges::equal(part.missed.of(i).share, whole.missed.of(before + i).share));
  }
}

}  // namespace
}  // namespace rollcall::model::testing
