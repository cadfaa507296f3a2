// The softmax over the tokens that top-k and top-p leave: stored and trained with the same bits,
// with the gradient of that softmax, and unbiased.
#include "model/decode/decode.hpp"
#include "model/decode/left_out.hpp"
#include "model/plain_transformer.hpp"
#include "model/small_models.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>
#include <numeric>

namespace rollcall::model::testing {
namespace {

/// A list of the target and some other tokens for two of three targets; the others have the whole
/// vocabulary.
void keep_some(MicroBatch& micro_batch, const ModelConfig& config, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 4);
  for (std::size_t i = 0; i < micro_batch.targets.size(); ++i) {
    if (i % 3 == 1) continue;
    std::vector<std::int32_t> ids;
    for (std::int32_t id = 0; id < config.vocab_size; ++id)
      if (id == micro_batch.tokens[std::size_t(micro_batch.targets[i])] ||
          stream.below(i * 1000 + std::size_t(id), 3) == 0)
        ids.push_back(id);
    micro_batch.kept.put(i, ids);
  }
}

/// A vocabulary of more than one block of the head's gradient, with tokens that are kept in each.
ModelConfig wide_config() {
  ModelConfig config = small_config(Family::qwen3);
  config.vocab_size = 2100;
  return config;
}

double norm_of(const std::vector<float>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0,
                                      std::plus(),
                                      [](float a, float b) { return double(a) * double(b); }));
}

TEST(KeptTokens, ColumnsAndGradientAreThoseOfTheSoftmaxOverThem) {
  for (const ModelConfig& config :
       {small_config(Family::llama), small_config(Family::qwen2), wide_config()}) {
    const std::vector<float> weights = random_weights(config, 5);
    MicroBatch micro_batch = random_micro_batch(config, {9, 3, 17, 2}, 6);
    keep_some(micro_batch, config, 8);
    const ColumnGradient derivative = random_columns(micro_batch.targets.size(), 7);
    const PolicyModel policy(config, weights, {});
    const PlainTransformer reference(config, weights);
    const auto [logprob, entropy] = reference.columns(micro_batch, 1.3);
    const std::vector<double> plain = reference.gradient(micro_batch, 1.3, derivative);
    const auto of_plain = [](const at::Tensor& column, std::size_t i) {
      return column[std::int64_t(i)].item<double>();
    };
    // with logits kept for the backward pass, and made again
    for (const std::int64_t micro_batch_bytes : {MicroBatchRunner::kNoLimit, std::int64_t(1)}) {
      Team alone;
      MicroBatchRunner runner(alone, micro_batch_bytes);
      std::vector<float> gradient(weights.size(), 0.0F);
      const WeightLayout layout = weight_layout(config);
      const Columns columns = runner.forward_backward(
          policy, micro_batch, 1.3, derivative,
          [&](TensorId tensor, std::int64_t first, std::span<const float> values) {
            for (std::size_t i = 0; i < values.size(); ++i)
              gradient[std::size_t(offset_of(layout, tensor) + first) + i] += values[i];
          });
      const Columns scored = runner.forward(policy, micro_batch, 1.3);
      EXPECT_EQ(columns.logprob, scored.logprob);
      EXPECT_EQ(columns.entropy, scored.entropy);
      for (std::size_t i = 0; i < micro_batch.targets.size(); ++i) {
        EXPECT_NEAR(columns.logprob[i], of_plain(logprob, i), 1e-4) << i;
        EXPECT_NEAR(columns.entropy[i], of_plain(entropy, i), 1e-4) << i;
      }
      for (const Slice& slice : layout.slices) {
        double error = 0.0, norm = 0.0;
        for (std::int64_t i = slice.offset; i < slice.offset + slice.count; ++i)
          error += std::pow(gradient[std::size_t(i)] - plain[std::size_t(i)], 2),
              norm += std::pow(plain[std::size_t(i)], 2);
        EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(norm) + 1e-6) << slice.name;
      }
    }
  }
}

/// Over all answers of one token, each with the probability that it is drawn with, the scores add
/// up to 0: then a baseline changes nothing, and a mean over draws is the gradient of the expected
/// reward. The log-prob of the full softmax lacks this.
TEST(KeptTokens, TheScoreOfADrawHasMeanZero) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const PolicyModel policy(config, random_weights(config, 21), {});
    const SamplingParams sampling{
        .temperature = 0.8, .top_k = 9, .top_p = 0.8, .max_new_tokens = 1, .logprob = "kept"};
    const DecodeRequest request{.prompt = {3, 4, 5, 6}, .seed = 5, .count = 1};
    const KeptTokens kept = decode(policy, std::span(&request, 1), sampling, {})[0][0].kept;
    ASSERT_GT(kept.of(0).size(), 1U);
    MicroBatch over_kept;  // the prompt once, and an answer for every token that may be drawn
    over_kept.tokens = request.prompt, over_kept.offsets = {0, 4}, over_kept.parents = {-1};
    for (std::size_t i = 0; i < kept.of(0).size(); ++i) {
      over_kept.targets.push_back(std::int64_t(over_kept.tokens.size())),
          over_kept.tokens.push_back(kept.of(0)[i]);
      over_kept.offsets.push_back(std::int64_t(over_kept.tokens.size())),
          over_kept.parents.push_back(0);
      over_kept.kept.put(i, kept.of(0));
    }
    MicroBatch full = over_kept;
    full.kept = {};
    const Columns drawn = forward(policy, over_kept, 0.8);
    ColumnGradient probability{{}, std::vector<float>(drawn.logprob.size(), 0.0F)};
    for (const float logprob : drawn.logprob) probability.logprob.push_back(std::exp(logprob));
    EXPECT_NEAR(std::accumulate(probability.logprob.begin(), probability.logprob.end(), 0.0), 1.0,
                1e-5);
    const double with = norm_of(gradient_of(policy, over_kept, 0.8, probability)),
                 without = norm_of(gradient_of(policy, full, 0.8, probability));
    EXPECT_LT(with, 1e-5) << name_of(family);
    EXPECT_GT(without, 1e-2) << name_of(family);
  }
}

/// What training says of a decoded sequence, with its lists.
Columns rescored(const PolicyModel& policy, const DecodeRequest& request,
                 const DecodedSequence& sequence, double temperature) {
  MicroBatch micro_batch{.tokens = request.prompt, .offsets = {0}, .kept = sequence.kept};
  for (const std::int32_t token : sequence.tokens)
    micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size())),
        micro_batch.tokens.push_back(token);
  micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  return forward(policy, micro_batch, temperature);
}

TEST(KeptTokens, StoredLogProbsAreTheBitsOfTheTrainingForward) {
  EXPECT_TRUE(rc::check([] {
    const ModelConfig config =
        small_config(*rc::gen::element(Family::llama, Family::qwen2, Family::qwen3));
    const auto sets =
        kernel_sets(*rc::gen::element(kernels::kFp32FixedOrder, kernels::kBf16Sliced8));
    const auto weights = random_weights(config, *rc::gen::inRange<std::uint64_t>(0, 50));
    const PolicyModel policy(config, weights, {}, *rc::gen::elementOf(sets)),
        scorer(config, weights, {}, *rc::gen::elementOf(sets));
    const DecodeRequest request{
        .prompt = {2, 3, 4}, .seed = *rc::gen::inRange<std::uint64_t>(0, 1000), .count = 5};
    SamplingParams sampling{.temperature = *rc::gen::element(0.7, 1.3), .max_new_tokens = 12};
    sampling.top_k = *rc::gen::element<std::int64_t>(0, 6, 23),
    sampling.top_p = *rc::gen::element(0.5, 0.9, 1.0);
    sampling.vocab_size = *rc::gen::element<std::int64_t>(0, 20);
    const auto full = decode(policy, std::span(&request, 1), sampling, {})[0];
    sampling.logprob = "kept";
    const auto kept = decode(policy, std::span(&request, 1), sampling, {}, {.threads = 2})[0];
    for (std::size_t i = 0; i < request.count; ++i) {
      RC_ASSERT(kept[i].tokens == full[i].tokens);  // what is stored changes no draw
      RC_ASSERT(kept[i].kept_mass == full[i].kept_mass);
      RC_ASSERT(kept[i].kept_mass.size() == (truncates(sampling) ? kept[i].tokens.size() : 0U));
      RC_ASSERT(full[i].kept.empty());
      const Columns columns = rescored(scorer, request, kept[i], sampling.temperature);
      RC_ASSERT(columns.logprob == kept[i].columns.logprob);
      RC_ASSERT(columns.entropy == kept[i].columns.entropy);
      RC_ASSERT(rescored(scorer, request, full[i], sampling.temperature).logprob ==
                full[i].columns.logprob);
      for (std::size_t t = 0; t < kept[i].kept_mass.size(); ++t) {
        const double mass = double(kept[i].kept_mass[t]);
        RC_ASSERT(mass > 0.0 && mass <= 1.0);
        RC_ASSERT(std::abs(double(kept[i].columns.logprob[t]) +
                           (kept[i].kept.of(t).empty() ? 0.0 : std::log(mass)) -
                           double(full[i].columns.logprob[t])) < 1e-4);
        RC_ASSERT(sampling.top_k == 0 || std::int64_t(kept[i].kept.of(t).size()) <= sampling.top_k);
      }
    }
  }));
}

TEST(KeptTokens, WithoutTruncationNothingIsStored) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 3), {});
  const DecodeRequest request{.prompt = {2, 3, 4}, .seed = 1, .count = 2};
  for (const SamplingParams& sampling :
       {SamplingParams{.max_new_tokens = 8, .logprob = "kept"},
        SamplingParams{.temperature = 0.0, .top_k = 3, .max_new_tokens = 8, .logprob = "kept"}}) {
    const auto decoded = decode(policy, std::span(&request, 1), sampling, {});
    for (const auto& sequence : decoded[0])
      EXPECT_TRUE(sequence.kept_mass.empty() && sequence.kept.empty());
  }
}

TEST(KeptTokens, OthersAreLeftOutOfAPartOfTheVocabulary) {
  const std::vector<std::int32_t> kept{1, 2, 5, 9};
  std::vector<float> part(4, 1.0F);
  leave_out_others(kept, 4, 4, part.data());  // ids 4 to 7
  EXPECT_EQ(part, (std::vector<float>{kLeftOut, 1.0F, kLeftOut, kLeftOut}));
  leave_out_others({}, 4, 4, part.data());
  EXPECT_EQ(part[1], 1.0F);
}

TEST(KeptTokens, ListsThatCannotBeAreRefused) {
  const ModelConfig config = small_config(Family::llama);
  const PolicyModel policy(config, random_weights(config, 13), {});
  const auto with = [](std::vector<std::int32_t> ids) {
    MicroBatch micro_batch{.tokens = {4, 5, 6}, .offsets = {0, 3}, .targets = {1, 2}};
    micro_batch.kept.put(1, ids);
    return micro_batch;
  };
  EXPECT_NEAR(forward(policy, with({6}), 1.0).logprob[1], 0.0F, 1e-6) << "one token is certain";
  EXPECT_THROW(forward(policy, with({5, 7}), 1.0), std::logic_error);
  EXPECT_THROW(forward(policy, with({6, 99}), 1.0), std::logic_error);
  EXPECT_THROW(forward(policy, with({7, 6}), 1.0), std::logic_error);
}

}  // namespace
}  // namespace rollcall::model::testing
