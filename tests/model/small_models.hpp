// Small random models of the three families, and random micro-batches for them.
#pragma once

#include "base/numbers/random.hpp"
#include "core/collectives.hpp"
#include "model/engine/policy.hpp"
#include "model/tensors/weights.hpp"

#include <string>
#include <vector>

namespace rollcall::model::testing {

enum class Family { llama, qwen2, qwen3 };
inline const std::vector<Family> kFamilies = {Family::llama, Family::qwen2, Family::qwen3};
inline std::string name_of(Family family) {
  return family == Family::llama ? "llama" : family == Family::qwen2 ? "qwen2" : "qwen3";
}

/// Two layers, grouped-query attention with odd widths; Llama has tied embeddings and a head_dim
/// that is not hidden / heads.
inline ModelConfig small_config(Family family) {
  ModelConfig c;
  c.architecture = family == Family::llama   ? Architecture::llama
                   : family == Family::qwen2 ? Architecture::qwen2
                                             : Architecture::qwen3;
  c.vocab_size = 23;
  c.hidden_size = 24;
  c.intermediate_size = 36;
  c.num_hidden_layers = 2;
  c.num_attention_heads = family == Family::llama ? 4 : 6;
  c.num_key_value_heads = family == Family::llama ? 1 : 3;
  c.head_dim = family == Family::qwen2 ? 4 : 8;
  c.max_position_embeddings = 64;
  c.tie_word_embeddings = family == Family::llama;
  c.qk_norm = family == Family::qwen3;
  c.attention_bias = family == Family::qwen2;
  c.eos_token_ids = {1};
  return c;
}

/// The kernel sets of these numerics that this processor runs.
inline std::vector<const kernels::KernelSet*> kernel_sets(const char* numerics) {
  std::vector<const kernels::KernelSet*> sets;
  for (const char* name : {"scalar", "avx2", "avx512", "avx512_bf16", "amx"})
    if (const auto* set = kernels::kernels_by_name(name, numerics)) sets.push_back(set);
  return sets;
}

/// Every value random, norms around one, so that no part of the model is idle.
inline std::vector<float> random_weights(const ModelConfig& config, std::uint64_t seed) {
  const WeightLayout layout = weight_layout(config);
  std::vector<float> weights(std::size_t(layout.size), 0.0F);
  for (const Slice& slice : layout.slices) {
    const RandomStream stream(seed, RandomPurpose::test, 0, slice.tensor.value);
    const double centre = slice.initial == Initial::ones ? 1.0 : 0.0;
    for (std::int64_t i = 0; i < slice.count; ++i)
      weights[std::size_t(slice.offset + i)] =
          float(centre + 0.25 * stream.normal(std::uint64_t(i)));
  }
  return weights;
}

/// Sequences of the given lengths; every token after the first two of a sequence is a target.
inline MicroBatch random_micro_batch(const ModelConfig& config,
                                     const std::vector<std::int64_t>& lengths, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 1);
  MicroBatch micro_batch;
  micro_batch.offsets = {0};
  for (const std::int64_t length : lengths) {
    for (std::int64_t i = 0; i < length; ++i) {
      if (i >= 2) micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
      micro_batch.tokens.push_back(
          std::int32_t(stream.below(micro_batch.tokens.size(), std::uint64_t(config.vocab_size))));
    }
    micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  }
  return micro_batch;
}

/// Random dLoss/dcolumn.
inline ColumnGradient random_columns(std::size_t count, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 2);
  ColumnGradient columns;
  for (std::size_t i = 0; i < count; ++i) {
    columns.logprob.push_back(float(stream.normal(2 * i)));
    columns.entropy.push_back(float(stream.normal(2 * i + 1)));
  }
  return columns;
}

/// Where a tensor's elements begin in a layout.
inline std::int64_t offset_of(const WeightLayout& layout, TensorId tensor) {
  return layout.slices.at(std::size_t(layout.slice_of(tensor))).offset;
}

/// What the sink is given for the micro-batch, layout order.
inline std::vector<float> gradient_of(const PolicyModel& policy, const MicroBatch& micro_batch,
                                      double temperature, const ColumnGradient& derivative,
                                      Columns* columns = nullptr) {
  const WeightLayout layout = weight_layout(policy.config());
  std::vector<float> gradient(std::size_t(layout.size), 0.0F);
  const auto sink = [&](TensorId tensor, std::int64_t first, std::span<const float> values) {
    float* into = gradient.data() + offset_of(layout, tensor) + first;
    for (const float value : values) *into++ += value;
  };
  Columns seen = forward_backward(policy, micro_batch, temperature, derivative, sink);
  if (columns != nullptr) *columns = std::move(seen);
  return gradient;
}

/// A group of one.
class Alone final : public Collectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void sum(std::span<std::int64_t>) override {}
  void maximum(std::span<double>) override {}
  void broadcast(std::span<std::byte>, int) override {}
  void barrier() override {}
};

}  // namespace rollcall::model::testing
