// Policies on the emulated device: near the host's in fp32, the same bits in any company, and a
// training forward that repeats what generation stored.
#include "base/errors/error.hpp"
#include "kernels/bf16.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "model/decode/decode.hpp"
#include "model/device/device_sizes.hpp"
#include "model/engine/packed_policy.hpp"
#include "model/small_models.hpp"
#include "model/train/policy_optimizer.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::model::testing {
namespace {

PolicyModel on_device(const ModelConfig& config, std::uint64_t seed) {
  return {config,
          random_weights(config, seed),
          {},
          &kernels::selected_kernels(kernels::kCudaBf16Sliced8)};
}

/// A beginning, prompts of 3 and 70 tokens behind it, a page and a part of one, answers that
/// continue them, and answers that continue an answer; once as a tree and once apart.
struct Prompts {
  MicroBatch shared{.offsets = {0}}, apart{.offsets = {0}};
  explicit Prompts(const ModelConfig& config) {
    std::uint64_t drawn = 0;
    const RandomStream stream(5, RandomPurpose::test, 3);
    const auto token = [&] {
      return std::int32_t(stream.below(drawn++, std::uint64_t(config.vocab_size)));
    };
    std::vector<std::int32_t> beginning;  // of both prompts
    for (int i = 0; i < 66; ++i) beginning.push_back(token());
    add(shared, beginning, -1, false);
    for (const int length : {3, 70}) {
      std::vector<std::int32_t> prompt;
      for (int i = 0; i < length; ++i) prompt.push_back(token());
      const auto parent = std::int64_t(shared.parents.size());
      add(shared, prompt, 0, false);
      std::vector<std::int32_t> before;  // the first answer, of which the columns are learnt once,
                                         // for the others that begin with it
      for (const int answer : {length == 3 ? 61 : 2, 1, 5}) {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < answer; ++i) tokens.push_back(token());
        add(shared, tokens, before.empty() ? parent : parent + 1, true);
        for (const auto* part : {&beginning, &prompt, &before})
          apart.tokens.insert(apart.tokens.end(), part->begin(), part->end());
        add(apart, tokens, -1, true);
        if (before.empty()) before = tokens;
      }
    }
    apart.parents.clear();
  }
  static void add(MicroBatch& micro_batch, const std::vector<std::int32_t>& tokens,
                  std::int64_t parent, bool learnt) {
    for (const std::int32_t token : tokens) {
      if (learnt) micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
      micro_batch.tokens.push_back(token);
    }
    micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
    micro_batch.parents.push_back(parent);
  }
};

ModelConfig config_of(Family family) {
  ModelConfig config = small_config(family);
  config.max_position_embeddings = 256;
  return config;
}

double distance(std::span<const float> a, std::span<const float> b) {  // relative
  double error = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    error += std::pow(double(a[i]) - b[i], 2), size += std::pow(double(b[i]), 2);
  return std::sqrt(error / size);
}

/// The host's bf16 numerics are held to the same distance from fp32
/// (model/Forward.Bf16StaysNearFp32): 8 bits an operand, and weights that are large for the model.
TEST(DevicePolicy, ColumnsAndGradientsAreNearTheHosts) {
  for (const Family family : kFamilies) {
    const ModelConfig config = config_of(family);
    const PolicyModel host(config, random_weights(config, 5), {}), device = on_device(config, 5);
    const MicroBatch micro_batch = Prompts(config).shared;
    const ColumnGradient derivative = random_columns(micro_batch.targets.size(), 7);
    Columns expected, got;
    const auto reference = gradient_of(host, micro_batch, 0.9, derivative, &expected),
               gradient = gradient_of(device, micro_batch, 0.9, derivative, &got);
    for (std::size_t i = 0; i < got.logprob.size(); ++i) {
      EXPECT_NEAR(got.logprob[i], expected.logprob[i], 0.2) << name_of(family) << i;
      EXPECT_NEAR(got.entropy[i], expected.entropy[i], 0.1) << name_of(family) << i;
    }
    for (const Slice& slice : weight_layout(config).slices) {
      const auto part = [&](const std::vector<float>& all) {
        return std::span(all).subspan(std::size_t(slice.offset), std::size_t(slice.count));
      };
      if (slice.name.ends_with("k_proj.bias"))
        continue;  // softmax does not see what is added to
                   // all keys: rounding is all there is
      EXPECT_LT(distance(part(gradient), part(reference)), 0.15)
          << name_of(family) << " " << slice.name;
    }
  }
}

TEST(DevicePolicy, TrainingRepeatsTheForwardAndSharedPromptsChangeNothing) {
  const ModelConfig config = config_of(Family::qwen3);
  const PolicyModel device = on_device(config, 6);
  const Prompts micro_batches(config);
  const ColumnGradient derivative = random_columns(micro_batches.shared.targets.size(), 15);
  const Columns columns = forward(device, micro_batches.shared, 0.7);
  Columns trained, apart;
  const auto shared = gradient_of(device, micro_batches.shared, 0.7, derivative, &trained),
             plain = gradient_of(device, micro_batches.apart, 0.7, derivative, &apart);
  EXPECT_EQ(trained.logprob, columns.logprob);
  EXPECT_EQ(trained.entropy, columns.entropy);
  EXPECT_EQ(apart.logprob, columns.logprob);
  EXPECT_LT(distance(shared, plain), 1e-2) << "sums of rounded products in another order";
}

std::vector<std::int32_t> prompt_of(const ModelConfig& config, std::size_t group) {
  return random_micro_batch(config, {group == 1 ? 66 : 3 + std::int64_t(group)}, group).tokens;
}

std::vector<std::vector<DecodedSequence>> decoded(const PolicyModel& policy,
                                                  const SamplingParams& sampling,
                                                  std::int64_t cache_bytes,
                                                  std::size_t groups = 3) {
  std::vector<DecodeRequest> requests;
  for (std::size_t g = 0; g < groups; ++g)
    requests.push_back(
        {.prompt = prompt_of(policy.config(), g), .seed = 7, .prompt_address = g, .count = 2});
  return decode(policy, requests, sampling, {}, {.cache_bytes = cache_bytes});
}

/// What the training forward makes of a sequence.
Columns repeated(const PolicyModel& policy, const SamplingParams& sampling, std::size_t group,
                 const DecodedSequence& sequence) {
  MicroBatch micro_batch{.tokens = prompt_of(policy.config(), group)};
  for (const std::int32_t token : sequence.tokens)
    micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size())),
        micro_batch.tokens.push_back(token);
  micro_batch.offsets = {0, std::int64_t(micro_batch.tokens.size())};
  return forward(policy, micro_batch, sampling.temperature > 0 ? sampling.temperature : 1.0);
}

constexpr std::int64_t kRoom = std::int64_t(1) << 22;

/// Beside others, alone, and where there is room for one sequence at a time.
TEST(DevicePolicy, GenerationHasTheSameBitsInAnyCompany) {
  const PolicyModel device = on_device(config_of(Family::qwen3), 9);
  for (const double temperature : {0.8, 0.05, 0.0}) {  // sequences of a prompt part at once, later,
                                                       // never
    const SamplingParams sampling{.temperature = temperature, .max_new_tokens = 5};
    const auto together = decoded(device, sampling, kRoom),
               short_of_room = decoded(device, sampling, 1);
    for (std::size_t g = 0; g < together.size(); ++g)
      for (std::size_t i = 0; i < together[g].size(); ++i) {
        const DecodeRequest request{.prompt = prompt_of(device.config(), g),
                                    .seed = 7,
                                    .prompt_address = g,
                                    .first_sample = std::uint32_t(i),
                                    .count = 1};
        const DecodedSequence alone = decode(device, std::span(&request, 1), sampling, {})[0][0];
        for (const DecodedSequence* other : {&together[g][i], &short_of_room[g][i]}) {
          EXPECT_EQ(other->tokens, alone.tokens) << temperature;
          EXPECT_EQ(other->columns.logprob, alone.columns.logprob) << temperature;
        }
      }
  }
}

/// More sequences than rows.
TEST(DevicePolicy, SequencesThatTakeTurnsHaveTheBitsTheyHaveAlone) {
  const PolicyModel device = on_device(config_of(Family::qwen3), 9);
  for (const double temperature : {0.8, 0.0}) {
    const SamplingParams sampling{.temperature = temperature, .max_new_tokens = 5};
    const auto alone = decoded(device, sampling, kRoom);
    Team team;
    DecodeSession session(device, sampling, team, kRoom, 3);
    for (std::size_t g = 0; g < alone.size(); ++g)
      session.open(
          {.prompt = prompt_of(device.config(), g), .seed = 7, .prompt_address = g, .count = 2}, 0,
          2, {});
    while (!session.idle()) session.advance(device);
    for (std::size_t id = 0; id < 2 * alone.size(); ++id) {
      EXPECT_EQ(session.at(id).tokens, alone[id / 2][id % 2].tokens);
      EXPECT_EQ(session.at(id).columns.logprob, alone[id / 2][id % 2].columns.logprob);
    }
  }
}

TEST(DevicePolicy, TheTrainingForwardRepeatsWhatGenerationStores) {
  const PolicyModel device = on_device(config_of(Family::qwen3), 9);
  for (const SamplingParams& sampling :
       {SamplingParams{.temperature = 0.8, .max_new_tokens = 5},
        SamplingParams{.max_new_tokens = 3, .vocab_size = 20},
        SamplingParams{.temperature = 0.0, .max_new_tokens = 3},
        SamplingParams{.top_k = 5, .top_p = 0.8, .max_new_tokens = 3}}) {
    const auto all = decoded(device, sampling, kRoom);
    for (std::size_t g = 0; g < all.size(); ++g) {
      const Columns columns = repeated(device, sampling, g, all[g].back());
      EXPECT_EQ(columns.logprob, all[g].back().columns.logprob) << g;
      EXPECT_EQ(columns.entropy, all[g].back().columns.entropy) << g;
      for (const std::int32_t token : all[g].back().tokens)
        EXPECT_TRUE(sampling.vocab_size == 0 || token < sampling.vocab_size);
    }
  }
}

/// Two turns, and a fork from within the first one, with room and where all is computed again.
TEST(DevicePolicy, TheTrainingForwardRepeatsAConversationAndItsFork) {
  ModelConfig config = config_of(Family::qwen3);
  config.eos_token_ids = {};
  const PolicyModel device = on_device(config, 9);
  const SamplingParams sampling{.temperature = 0.8, .max_new_tokens = 4};
  const std::vector<std::int32_t> prompt = prompt_of(config, 1), said{3, 4, 5};
  for (const std::int64_t cache_bytes : {kRoom, std::int64_t(1)}) {
    Team team;
    DecodeSession session(device, sampling, team, cache_bytes);
    const auto run_out = [&] {
      while (!session.idle()) session.advance(device);
    };
    const auto first = session.open({.prompt = prompt, .seed = 7}, 0, 1, {});
    run_out();
    const auto same = session.fork(first, 2, 0, {}, 2), other = session.fork(first, 2, 1, said, 3);
    run_out();
    EXPECT_EQ(session.at(same).tokens, session.at(first).tokens);
    EXPECT_EQ(session.at(same).columns.logprob, session.at(first).columns.logprob);
    session.append(first, said, 3);
    run_out();
    for (const auto& [id, before] : {std::pair(first, 4U), std::pair(other, 2U)}) {
      const DecodedSequence talk = session.take(id);
      ASSERT_EQ(talk.tokens.size(), before + 3U);
      MicroBatch micro_batch{.tokens = prompt, .offsets = {0}};
      for (std::size_t t = 0; t < talk.tokens.size(); ++t) {
        if (t == before)
          micro_batch.tokens.insert(micro_batch.tokens.end(), said.begin(), said.end());
        micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
        micro_batch.tokens.push_back(talk.tokens[t]);
      }
      micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
      const Columns columns = forward(device, micro_batch, sampling.temperature);
      EXPECT_EQ(columns.logprob, talk.columns.logprob) << before;
      EXPECT_EQ(columns.entropy, talk.columns.entropy) << before;
    }
  }
}

TEST(DevicePolicy, ANewVersionIsWhatRuns) {
  const ModelConfig config = config_of(Family::qwen2);
  auto weights = std::make_shared<AlignedFloats>(std::span<const float>(random_weights(config, 1)));
  PolicyModel policy(config, std::shared_ptr<const AlignedFloats>(weights), PolicyVersion{1},
                     &kernels::selected_kernels(kernels::kCudaBf16Sliced8));
  const MicroBatch micro_batch = random_micro_batch(config, {5}, 2);
  const auto before = forward(policy, micro_batch, 1.0).logprob;
  const auto others = random_weights(config, 3);
  std::copy(others.begin(), others.end(), weights->data());
  EXPECT_EQ(forward(policy, micro_batch, 1.0).logprob, before)
      << "weights that are not published yet";
  policy.renew(PolicyVersion{2});
  EXPECT_EQ(forward(policy, micro_batch, 1.0).logprob,
            forward(on_device(config, 3), micro_batch, 1.0).logprob);
}

TEST(DevicePolicy, GradientsByTheStatesAreNearTheHostsInAnyCompany) {
  const ModelConfig config = config_of(Family::qwen3);
  const PolicyModel host(config, random_weights(config, 5), {}), device = on_device(config, 5);
  // more targets than the head takes at a time
  const MicroBatch micro_batch = random_micro_batch(config, {100, 60, 7, 128, 2}, 3);
  const auto expected = logprob_gradients(host, micro_batch, 0.9),
             got = logprob_gradients(device, micro_batch, 0.9);
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    error += std::pow(got[i] - expected[i], 2), size += std::pow(expected[i], 2);
  EXPECT_LT(std::sqrt(error / size), 0.1);
  MicroBatch alone{.tokens = {micro_batch.tokens.begin() + 160, micro_batch.tokens.begin() + 167},
                   .offsets = {0, 7},
                   .targets = {2, 3, 4, 5, 6}};
  const auto own =
      std::span(got).subspan(2 * std::size_t(config.hidden_size), std::size_t(config.hidden_size));
  EXPECT_EQ(logprob_gradients(device, alone, 0.9), std::vector<double>(own.begin(), own.end()));
}

/// An embedding that is no head is rounded on the device, about a million floats at a time.
TEST(DevicePolicy, ALargeEmbeddingArrivesWhole) {
  ModelConfig config = config_of(Family::qwen3);
  config.vocab_size = 20000, config.hidden_size = 64, config.num_hidden_layers = 1;
  const auto weights = random_weights(config, 4);
  const PolicyModel policy = on_device(config, 4);
  const DeviceWeightBytes bytes = device_weight_bytes(config);
  std::vector<kernels::Bf16> table(
      static_cast<std::size_t>(config.vocab_size * config.hidden_size)),
      expected;
  ASSERT_EQ(bytes.table, std::int64_t(table.size() * sizeof(kernels::Bf16)));
  for (std::size_t i = 0; i < table.size(); ++i) expected.push_back(kernels::to_bf16(weights[i]));
  kernels::ExecutionContext context;
  const auto* const there = reinterpret_cast<const std::byte*>(device_weights(policy).data());
  kernels::cuda::copy_to_host(context, table.data(), there + bytes.panels + bytes.vectors,
                              std::size_t(bytes.table));
  kernels::cuda::wait(context);
  EXPECT_TRUE(table == expected);
}

TEST(DevicePolicy, WideColumnsAreNearTheHosts) {
  const ModelConfig config = config_of(Family::llama);
  const MicroBatch micro_batch = random_micro_batch(config, {6, 4}, 2);
  const PolicyModel host(config, random_weights(config, 1), {}),
      other(config, random_weights(config, 2), {});
  const PolicyModel device = on_device(config, 1), second = on_device(config, 2);
  const FullVocabColumns expected = forward_full_vocab(host, &other, micro_batch, 0.9),
                         got = forward_full_vocab(device, &second, micro_batch, 0.9);
  EXPECT_LT(distance(got.sum_squares, expected.sum_squares), 0.1);
  EXPECT_LT(distance(got.second_kl, expected.second_kl), 0.1);
  EXPECT_EQ(got.columns.logprob, forward(device, micro_batch, 0.9).logprob);
}

}  // namespace
}  // namespace rollcall::model::testing
