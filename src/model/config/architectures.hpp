// The architectures that the engine runs. Each row says how one of them differs from the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace rollcall::model {

enum class Architecture { llama, qwen2, qwen3, smollm3 };

/// Whether a projection has a bias. Either the architecture fixes it, or attention_bias or mlp_bias
/// in config.json decides.
enum class Bias { never, always, by_key };

/// One architecture. The defaults apply if config.json leaves a key out. They come from the
/// configuration classes of transformers 5.23 (models/*/configuration_*.py).
struct ArchitectureRow {
  Architecture architecture;
  const char* name;          ///< "LlamaForCausalLM", in "architectures"
  const char* model_type;    ///< "llama"
  bool qk_norm;              ///< RMSNorm over each head of q and k
  Bias attention_bias;       ///< whether q, k and v have a bias
  Bias output_bias;          ///< whether o has a bias
  Bias mlp_bias;             ///< whether gate, up and down have a bias
  bool sliding_window;       ///< use_sliding_window and layer_types exist; only full attention runs
  bool layers_without_rope;  ///< no_rope_layers and no_rope_layer_interval exist
  std::int64_t default_key_heads;  ///< num_key_value_heads; 0 means num_attention_heads
  std::int64_t default_head_dim;   ///< head_dim; 0: hidden_size/num_attention_heads
  std::int64_t default_positions;  ///< max_position_embeddings
  double default_rope_theta;
  bool default_tied;                                   ///< tie_word_embeddings
  std::int64_t default_bos, default_eos, default_pad;  ///< token ids; -1: no such token
};

std::span<const ArchitectureRow> architectures();
const ArchitectureRow& row_of(Architecture architecture);
std::string architecture_names();  ///< "LlamaForCausalLM, Qwen2ForCausalLM, ..."

}  // namespace rollcall::model
