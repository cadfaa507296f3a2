// Are stored columns and those of training the same in every bit? Samples random batches in random
// ways and computes them again in random micro-batches.
// usage: stored_and_trained TOKENS NUMERICS [SET [MODEL [FIRST_SEED]]]     SET: of kernels, or
// "fastest"; MODEL: tiny (0.8M parameters), or small, many shapes
#include "base/errors/error.hpp"
#include "model/decode/decode.hpp"
#include "model/small_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rollcall;
using namespace rollcall::model;
using namespace rollcall::model::testing;

/// Draws of one batch, one after the other.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_(seed, RandomPurpose::test, 9) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + std::int64_t(stream_.below(next_++, std::uint64_t(high - low + 1)));
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[between(0, std::int64_t(all.size()) - 1)];
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

ModelConfig config_of(const std::string& model, Draws& draws) {
  ModelConfig config = small_config(draws.one_of({Family::llama, Family::qwen2, Family::qwen3}));
  config.max_position_embeddings = 1024;
  if (model == "small") {
    config.vocab_size = draws.between(2, 60);
    config.hidden_size = draws.between(1, 70);
    config.intermediate_size = draws.between(1, 90);
    return config;
  }
  config = small_config(Family::llama);
  config.max_position_embeddings = 1024;
  config.vocab_size = 32, config.hidden_size = 128, config.intermediate_size = 352,
  config.num_hidden_layers = 4;
  config.num_attention_heads = 4, config.num_key_value_heads = 2, config.head_dim = 32;
  return config;
}

struct Tally {
  std::int64_t tokens = 0, trained = 0, differ = 0;
};

std::int64_t differing(std::span<const float> a, std::span<const float> b) {
  expect(a.size() == b.size(), "a column for each target");
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]);
  return count;
}

void one_batch(std::uint64_t seed, const kernels::KernelSet& set, const std::string& model,
               Tally& tally) {
  Draws draws(seed);
  const ModelConfig config = config_of(model, draws);
  const PolicyModel policy(config, random_weights(config, seed % 5), {}, &set);
  SamplingParams sampling;
  sampling.temperature = draws.one_of({1.0, 0.6, 1.3});
  sampling.top_p = draws.one_of({1.0, 0.9});
  sampling.max_new_tokens = draws.between(1, 150);
  std::vector<DecodeRequest> requests(std::size_t(draws.between(1, 12)));
  for (std::size_t g = 0; g < requests.size(); ++g) {
    const std::int64_t length =
        draws.one_of<std::int64_t>({1, 2, 63, 64, 65, 200, draws.between(1, 600)});
    requests[g] = {.prompt = random_micro_batch(config, {length}, seed + g).tokens,
                   .seed = seed,
                   .prompt_address = g,
                   .count = std::uint32_t(draws.between(1, 30))};
  }
  const DecodeOptions options{.threads = int(draws.between(1, 3)),
                              .cache_bytes = std::int64_t(1) << draws.between(12, 26)};
  const auto groups = decode(policy, requests, sampling, {}, options);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // Micro-batches of a few samples each: their prompt once, whole or behind its beginning, or
    // with each of them.
    for (std::size_t first = 0; first < groups[g].size();) {
      const std::size_t end = std::min(groups[g].size(), first + std::size_t(draws.between(1, 12)));
      const bool shared = draws.between(0, 2) > 0, backward = draws.between(0, 15) == 0;
      MicroBatch micro_batch{.offsets = {0}};
      const auto sequence = [&](std::span<const std::int32_t> before,
                                std::span<const std::int32_t> sampled, std::int64_t parent) {
        micro_batch.tokens.insert(micro_batch.tokens.end(), before.begin(), before.end());
        for (const std::int32_t token : sampled)
          micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size())),
              micro_batch.tokens.push_back(token);
        micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
        micro_batch.parents.push_back(parent);
      };
      const std::span<const std::int32_t> prompt(requests[g].prompt);
      const std::size_t head =
          prompt.size() > 1 ? std::size_t(draws.between(0, std::int64_t(prompt.size()) - 1)) : 0;
      const std::int64_t parent = head > 0 ? 1 : 0;
      if (shared && head > 0) sequence(prompt.first(head), {}, -1);
      if (shared) sequence(prompt.subspan(head), {}, parent - 1);
      std::vector<float> logprob, entropy;
      for (; first < end; ++first) {
        const DecodedSequence& sample = groups[g][first];
        shared ? sequence({}, sample.tokens, parent)
               : sequence(requests[g].prompt, sample.tokens, -1);
        logprob.insert(logprob.end(), sample.columns.logprob.begin(), sample.columns.logprob.end());
        entropy.insert(entropy.end(), sample.columns.entropy.begin(), sample.columns.entropy.end());
      }
      const Columns columns =
          backward ? forward_backward(policy, micro_batch, sampling.temperature,
                                      random_columns(micro_batch.targets.size(), seed),
                                      [](TensorId, std::int64_t, std::span<const float>) {})
                   : forward(policy, micro_batch, sampling.temperature);
      tally.tokens += std::int64_t(logprob.size());
      tally.trained += backward ? std::int64_t(logprob.size()) : 0;
      tally.differ += differing(logprob, columns.logprob) + differing(entropy, columns.entropy);
    }
  }
}

int run(const std::vector<std::string>& words) {
  const auto word = [&](std::size_t i, const char* otherwise) {
    return i < words.size() ? words[i] : std::string(otherwise);
  };
  require<InputError>(words.size() >= 2, "TOKENS and NUMERICS are wanted",
                      "they say what is compared", "see the top of stored_and_trained.cpp");
  const std::int64_t wanted = std::stoll(words[0]);
  const std::string name = word(2, "fastest"), model = word(3, "small");
  const kernels::KernelSet* set = name == "fastest" ? &kernels::selected_kernels(words[1])
                                                    : kernels::kernels_by_name(name, words[1]);
  if (!set) {
    fmt::print("{} is not a set of {} that this processor runs\n", name, words[1]);
    return 77;
  }
  Tally tally;
  auto told = std::chrono::steady_clock::now();
  for (std::uint64_t seed = std::stoull(word(4, "1")); tally.tokens < wanted; ++seed) {
    const std::int64_t before = tally.differ;
    one_batch(seed, *set, model, tally);
    if (tally.differ != before)
      fmt::print("batch {}: {} columns differ\n", seed, tally.differ - before);
    if (std::chrono::steady_clock::now() - told > std::chrono::seconds(10)) {
      told = std::chrono::steady_clock::now();
      fmt::print(stderr, "{} of {} tokens\n", tally.tokens, wanted);
    }
  }
  fmt::print("{} by {}, {}: {} tokens, {} of them through forward_backward, {} columns differ\n",
             words[1], set->name, model, tally.tokens, tally.trained, tally.differ);
  return tally.differ == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  return run({argv + 1, argv + argc});
} catch (const std::exception& e) {
  fmt::print(stderr, "stored_and_trained: {}\n", e.what());
  return 2;
}
