// The small random models that transformers judges, and what Rollcall says of them: for
// export_reference and transformers_test.cpp.
#pragma once

#include "model/decode/decode.hpp"
#include "model/engine/backend.hpp"
#include "model/small_models.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace rollcall::model::testing {

struct ReferenceModel {
  std::string name;
  ModelConfig config;
};

inline RopeScaling yarn_scaling(double factor) {
  RopeScaling s{.type = RopeScaling::Type::yarn, .factor = factor};
  s.original_max_position_embeddings = 16;
  s.beta_fast = 4.0;  // within the few rotations that 16 positions have, so that the ramp is in use
  return s;
}

/// SmolLM3 in small: every second layer without rotary embeddings.
inline ModelConfig small_smollm3() {
  ModelConfig c = small_config(Family::llama);
  c.architecture = Architecture::smollm3;
  c.num_hidden_layers = 3;
  c.layers_without_rope = {1};
  c.eos_token_ids = {1, 5, 7};
  return c;
}

/// Every row of the table with every kind of bias and of rope scaling.
inline std::vector<ReferenceModel> reference_models() {
  std::vector<ReferenceModel> models;
  const auto add = [&](const char* name, const ModelConfig& base, const auto& change) {
    models.push_back({name, base});
    change(models.back().config);
  };
  const ModelConfig llama = small_config(Family::llama), qwen2 = small_config(Family::qwen2),
                    qwen3 = small_config(Family::qwen3);
  add("llama", llama, [](ModelConfig&) {});
  add("llama_biases", llama, [](ModelConfig& c) {
    c.attention_bias = c.output_bias = c.mlp_bias = true, c.tie_word_embeddings = false;
  });
  add("llama_linear", llama,
      [](ModelConfig& c) { c.rope_scaling = {.type = RopeScaling::Type::linear, .factor = 4.0}; });
  add("llama_llama3", llama, [](ModelConfig& c) {
    c.rope_scaling = {.type = RopeScaling::Type::llama3,
                      .factor = 8.0,
                      .original_max_position_embeddings = 32},
    c.rope_theta = 500.0;
  });
  add("llama_yarn", llama, [](ModelConfig& c) {
    c.rope_scaling = yarn_scaling(4.0), c.rope_scaling.truncate = false, c.eos_token_ids = {1, 2};
  });
  add("qwen2", qwen2, [](ModelConfig&) {});
  add("qwen2_yarn", qwen2, [](ModelConfig& c) {
    c.rope_scaling = yarn_scaling(4.0), c.rope_scaling.attention_factor = 1.25;
  });
  add("qwen3", qwen3, [](ModelConfig&) {});
  add("qwen3_biases", qwen3, [](ModelConfig& c) {
    c.attention_bias = c.output_bias = true, c.tie_word_embeddings = true;
  });
  add("qwen3_yarn", qwen3, [](ModelConfig& c) {
    c.rope_scaling = yarn_scaling(4.0), c.rope_scaling.mscale = 2.0,
    c.rope_scaling.mscale_all_dim = 0.5, c.rope_scaling.beta_slow = 2.0;
  });
  add("qwen3_linear", qwen3,
      [](ModelConfig& c) { c.rope_scaling = {.type = RopeScaling::Type::linear, .factor = 2.5}; });
  add("smollm3", small_smollm3(), [](ModelConfig&) {});
  add("smollm3_biases", small_smollm3(),
      [](ModelConfig& c) { c.attention_bias = c.output_bias = c.mlp_bias = true; });
  add("smollm3_llama3", small_smollm3(), [](ModelConfig& c) {
    c.rope_scaling = {.type = RopeScaling::Type::llama3,
                      .factor = 4.0,
                      .original_max_position_embeddings = 16},
    c.rope_theta = 100.0;
  });
  return models;
}

/// What is compared. The loss is sum over the micro-batch's targets of logprob_weight * log-prob +
/// entropy_weight * entropy.
struct ReferenceResults {
  MicroBatch micro_batch;  ///< four sequences, every token but the first a target
  ColumnGradient weights;  ///< of the loss
  Columns columns;
  std::vector<float> gradient;               ///< layout order
  std::vector<std::vector<float>> logits;    ///< [T][V] of the second sequence
  std::vector<std::int32_t> prompt, greedy;  ///< the second sequence and what follows at
                                             ///< temperature 0
};

inline constexpr std::size_t kShownSequence = 1;  ///< the one with logits and a greedy continuation
inline constexpr std::int64_t kGreedyTokens = 20;

inline std::vector<std::vector<float>> logits_of(const PolicyModel& policy,
                                                 const std::vector<std::int32_t>& tokens) {
  const PolicyModel::Packed& packed = policy.packed();
  const std::vector<std::int64_t> offsets = {0, std::int64_t(tokens.size())};
  PackedSequences sequences(offsets, page_shape(packed));
  Team alone;
  Backend backend(packed.config, alone, std::int64_t(tokens.size()));
  const float* hidden = backend.hidden(packed, tokens, sequences.positions(), sequences);
  std::vector<const float*> rows;
  for (std::size_t t = 0; t < tokens.size(); ++t)
    rows.push_back(hidden + std::int64_t(t) * packed.config.hidden_size);
  std::vector<std::vector<float>> all;
  backend.logits(packed, rows,
                 [&](std::size_t, std::size_t count, const float* logits, const float*) {
                   for (std::size_t i = 0; i < count; ++i, logits += packed.config.vocab_size)
                     all.emplace_back(logits, logits + packed.config.vocab_size);
                 });
  return all;
}

inline std::vector<float> reference_weights(const ModelConfig& config) {
  return random_weights(config, 17);
}

inline MicroBatch reference_micro_batch(const ModelConfig& config) {
  MicroBatch micro_batch = random_micro_batch(config, {2, 9, 33, 64}, 18);
  micro_batch.targets.clear();
  for (std::size_t s = 0; s + 1 < micro_batch.offsets.size(); ++s) {
    for (std::int64_t t = micro_batch.offsets[s] + 1; t < micro_batch.offsets[s + 1]; ++t)
      micro_batch.targets.push_back(t);
  }
  return micro_batch;
}

inline ReferenceResults reference_results(const ModelConfig& config) {
  ReferenceResults r;
  r.micro_batch = reference_micro_batch(config);
  r.weights = random_columns(r.micro_batch.targets.size(), 19);
  const std::vector<float> weights = reference_weights(config);
  const PolicyModel policy(config, weights, {});
  r.columns = forward(policy, r.micro_batch, 1.0);
  r.gradient = gradient_of(policy, r.micro_batch, 1.0, r.weights);
  r.prompt = {r.micro_batch.tokens.begin() + r.micro_batch.offsets[kShownSequence],
              r.micro_batch.tokens.begin() + r.micro_batch.offsets[kShownSequence + 1]};
  r.logits = logits_of(policy, r.prompt);
  const DecodeRequest request{.prompt = r.prompt, .count = 1};
  r.greedy = decode(policy, std::span(&request, 1),
                    {.temperature = 0.0, .max_new_tokens = kGreedyTokens}, {})[0][0]
                 .tokens;
  return r;
}

/// Sums of a tensor's elements with random signs: the sign of element i in sum k is the top bit of
/// splitmix64 (Steele et al. 2014) of 4 i + k.
inline std::vector<double> signed_sums(std::span<const float> values) {
  std::vector<double> sums(4, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      std::uint64_t z = (4 * i + k + 1) * 0x9E3779B97F4A7C15ULL;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
      sums[k] += ((z ^ (z >> 31)) >> 63) != 0 ? -double(values[i]) : double(values[i]);
    }
  }
  return sums;
}

inline double norm_of(std::span<const float> values) {
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float v) {
    return sum + double(v) * double(v);
  }));
}

}  // namespace rollcall::model::testing
