// A LoRA adapter in numbers, read from PEFT's adapter_config.json and written to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::model {

/// A change of some matrices by products of two small ones: W + s B A with A [rank, inputs] and
/// B [outputs, rank]. Source: arXiv:2106.09685, section 4.1.
struct AdapterConfig {
  std::int64_t rank = 0;  ///< 0: there is no adapter
  double alpha = 0.0;
  /// Whether s is alpha / sqrt(rank) (arXiv:2312.03732, rsLoRA) and not alpha / rank.
  bool rslora = false;
  /// The end of the names of the matrices that change, such as "q_proj" or "self_attn.q_proj".
  std::vector<std::string> targets;

  double scale() const;  ///< s
};

/// An adapter as its file describes it.
struct StoredAdapter {
  AdapterConfig config;
  std::string base;  ///< base_model_name_or_path: the folder of the model that it changes
};

/// Throws InputError naming the first key, in file order, with which the adapter would be another
/// thing than AdapterConfig describes. `origin`: what messages call the file. Source: PEFT 0.18,
/// tuners/lora/config.py, LoraConfig.
StoredAdapter read_adapter_config(const std::string& text, const std::string& origin);

/// An adapter_config.json that PEFT reads as the same adapter.
std::string to_adapter_config_json(const StoredAdapter& adapter);

}  // namespace rollcall::model
