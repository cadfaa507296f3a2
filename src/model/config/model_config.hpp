// A model's architecture in numbers, read from config.json and written to it.
#pragma once

#include "core/run_config.hpp"
#include "model/config/adapter_config.hpp"
#include "model/config/architectures.hpp"
#include "model/config/rope.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::model {

/// What config.json says about a model, and which adapter changes it. It is made from a run file's
/// model section or read from a model folder.
struct ModelConfig {
  Architecture architecture = Architecture::llama;
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0, intermediate_size = 0, num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0,
               max_position_embeddings = 0;
  double rope_theta = 10000.0, rms_norm_eps = 1e-6, initializer_range = 0.02;
  RopeScaling rope_scaling;
  std::vector<std::int64_t> layers_without_rope;  ///< their indices, ascending
  bool tie_word_embeddings = false, qk_norm = false;
  /// Whether there is a bias on q, k and v; on o; on gate, up and down.
  bool attention_bias = false, output_bias = false, mlp_bias = false;
  std::int64_t bos_token_id = -1, pad_token_id = -1;  ///< -1: no such token
  std::vector<std::int64_t> eos_token_ids;            ///< any of them ends a sequence
  AdapterConfig adapter;  ///< not part of config.json; absent where its matrices are merged
};

inline bool is_end_token(const ModelConfig& config, std::int64_t token) {
  const auto& ids = config.eos_token_ids;
  return std::find(ids.begin(), ids.end(), token) != ids.end();
}
/// Whether a layer's queries and keys are rotated by their positions.
inline bool has_rope(const ModelConfig& config, std::int64_t layer) {
  const auto& without = config.layers_without_rope;
  return !std::binary_search(without.begin(), without.end(), layer);
}

ModelConfig model_config(const ModelSection& section, std::int64_t vocab_size,
                         std::int64_t eos_token_id);
/// A file's text, and the file's name in messages.
struct NamedText {
  std::string text, origin;
};
/// Throws InputError naming the first key that the engine does not support. The end tokens of
/// `generation` (generation_config.json) are added to those of config.json.
ModelConfig read_model_config(const NamedText& config, const NamedText& generation = {});
/// A config.json that transformers 4 and 5 read as the same model. `dtype` is the type of the
/// weights beside the file ("float32", "bfloat16").
std::string to_config_json(const ModelConfig& config, const std::string& dtype = "float32");

}  // namespace rollcall::model
