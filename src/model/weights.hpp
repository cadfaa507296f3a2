// Named weight slices in one flat buffer: the model borrows them, collectives move them, safetensors stores them.
#pragma once

#include "base/id.hpp"
#include "core/run_config.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rollcall::model {

/// Keys of config.json (Llama, Qwen2, Qwen3). Built from a run file's model section or read from a model folder.
struct ModelConfig {
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0, intermediate_size = 0, num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0, max_position_embeddings = 0;
  double rope_theta = 10000.0, rms_norm_eps = 1e-6, initializer_range = 0.02;
  bool tie_word_embeddings = false, qk_norm = false, attention_bias = false;
  std::int64_t bos_token_id = -1, eos_token_id = -1;
};

ModelConfig model_config(const ModelSection& section, std::int64_t vocab_size, std::int64_t eos_token_id);
ModelConfig read_model_config(const std::string& config_json_text,
                              const std::string& origin);  ///< throws InputError: unsupported architecture, rope scaling, missing key
std::string to_config_json(const ModelConfig& config);     ///< what `transformers` reads: Qwen3 with qk_norm, else Qwen2 with attention_bias, else Llama

/// One tensor: Hugging Face name, shape, and where it lies in the flat buffer [offset, offset + count).
struct Slice {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0, count = 0;
  bool decay = false;  ///< weight decay applies (matrices other than embeddings and head)
};

/// Pure function of the config; order and offsets are the same on every rank. Offsets are multiples of 16 floats.
struct WeightLayout {
  std::vector<Slice> slices;
  std::int64_t size = 0;  ///< floats in the buffer, padding included
};
WeightLayout weight_layout(const ModelConfig& config);

/// Normal(0, initializer_range) matrices, ones for norms, zeros for biases; addressed by (seed, tensor index, element).
std::vector<float> initial_weights(const ModelConfig& config, std::uint64_t seed);

/// SHA-256 over names, shapes and little-endian fp32 bytes in layout order: the "policy sha256" of logs and results.
std::string weights_sha256(const WeightLayout& layout, std::span<const float> weights);

}  // namespace rollcall::model
