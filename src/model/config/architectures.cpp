// The table of architectures.
#include "model/config/architectures.hpp"

#include "base/errors/error.hpp"

#include <array>

namespace rollcall::model {
namespace {

// SmolLM, SmolLM2 and Llama 1 to 3.3 are LlamaForCausalLM; Qwen2.5 is Qwen2ForCausalLM.
constexpr std::array<ArchitectureRow, 4> kArchitectures = {{
    {.architecture = Architecture::llama,
     .name = "LlamaForCausalLM",
     .model_type = "llama",
     .qk_norm = false,
     .attention_bias = Bias::by_key,
     .output_bias = Bias::by_key,
     .mlp_bias = Bias::by_key,
     .sliding_window = false,
     .layers_without_rope = false,
     .default_key_heads = 0,
     .default_head_dim = 0,
     .default_positions = 2048,
     .default_rope_theta = 1e4,
     .default_tied = false,
     .default_bos = 1,
     .default_eos = 2,
     .default_pad = -1},
    {.architecture = Architecture::qwen2,
     .name = "Qwen2ForCausalLM",
     .model_type = "qwen2",
     .qk_norm = false,
     .attention_bias = Bias::always,
     .output_bias = Bias::never,
     .mlp_bias = Bias::never,
     .sliding_window = true,
     .layers_without_rope = false,
     .default_key_heads = 32,
     .default_head_dim = 0,
     .default_positions = 32768,
     .default_rope_theta = 1e4,
     .default_tied = false,
     .default_bos = -1,
     .default_eos = -1,
     .default_pad = -1},
    {.architecture = Architecture::qwen3,
     .name = "Qwen3ForCausalLM",
     .model_type = "qwen3",
     .qk_norm = true,
     .attention_bias = Bias::by_key,
     .output_bias = Bias::by_key,
     .mlp_bias = Bias::never,
     .sliding_window = true,
     .layers_without_rope = false,
     .default_key_heads = 32,
     .default_head_dim = 128,
     .default_positions = 32768,
     .default_rope_theta = 1e4,
     .default_tied = false,
     .default_bos = -1,
     .default_eos = -1,
     .default_pad = -1},
    {.architecture = Architecture::smollm3,
     .name = "SmolLM3ForCausalLM",
     .model_type = "smollm3",
     .qk_norm = false,
     .attention_bias = Bias::by_key,
     .output_bias = Bias::by_key,
     .mlp_bias = Bias::by_key,
     .sliding_window = true,
     .layers_without_rope = true,
     .default_key_heads = 4,
     .default_head_dim = 0,
     .default_positions = 32768,
     .default_rope_theta = 2e6,
     .default_tied = true,
     .default_bos = 128000,
     .default_eos = 128001,
     .default_pad = 128004},
}};

}  // namespace

std::span<const ArchitectureRow> architectures() { return kArchitectures; }

const ArchitectureRow& row_of(Architecture architecture) {
  const ArchitectureRow& row = kArchitectures.at(std::size_t(architecture));
  expect(row.architecture == architecture, "rows stand in the order of the enum");
  return row;
}

std::string architecture_names() {
  std::string names;
  for (const ArchitectureRow& row : kArchitectures)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

}  // namespace rollcall::model
