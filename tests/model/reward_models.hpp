// The small random reward models that transformers judges, and what Rollcall says of them: for
// export_reward_models and reward_model_test.cpp.
#pragma once

#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "model/reference_models.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/train/reward_model.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::model::testing {

inline constexpr std::int32_t kPad = 5;

/// Every row of the table, with and without a padding token.
inline std::vector<ReferenceModel> reward_reference_models() {
  std::vector<ReferenceModel> models;
  for (const auto& [name, config] : reference_models()) {
    if (name != "llama" && name != "qwen2" && name != "qwen3_biases" && name != "smollm3") continue;
    models.push_back({name, config});
    models.push_back({name + "_pad", config});
    models.back().config.pad_token_id = kPad;
  }
  return models;
}

/// Lengths 1 to 63; the last two end in padding, one of them is nothing else.
inline std::vector<std::vector<std::int32_t>> reward_sequences(const ModelConfig& config) {
  const RandomStream stream(7, RandomPurpose::test, 3);
  std::vector<std::vector<std::int32_t>> all;
  std::uint64_t at = 0;
  for (const std::size_t length : {1, 2, 17, 63, 9}) {
    auto& tokens = all.emplace_back(length);
    for (auto& token : tokens)
      token = std::int32_t(stream.below(at++, std::uint64_t(config.vocab_size)));
  }
  all.back().insert(all.back().end(), 3, kPad);
  all.push_back({kPad, kPad});
  return all;
}

/// A folder as transformers saves one: the blocks' tensors and score.weight [labels, hidden_size],
/// all of which are random. `name`: of the architecture.
inline void write_reward_model(const std::filesystem::path& folder, const ModelConfig& given,
                               std::int64_t labels = 1, const std::string& name = "") {
  ModelConfig config = given;
  config.tie_word_embeddings = true;  // no head
  const std::vector<float> weights = random_weights(config, 23);
  const WeightLayout layout = weight_layout(config);
  const RandomStream stream(29, RandomPurpose::test);
  std::vector<float> score;
  for (std::uint64_t i = 0; i < std::uint64_t(labels * config.hidden_size); ++i)
    score.push_back(float(stream.normal(i)));
  auto tensors = weight_tensors(layout, weights);
  tensors.push_back({"score.weight",
                     Dtype::f32,
                     {labels, config.hidden_size},
                     std::as_bytes(std::span<const float>(score))});
  auto json = nlohmann::ordered_json::parse(to_config_json(config));
  std::string architecture = row_of(config.architecture).name;
  architecture.replace(architecture.find("ForCausalLM"), std::string::npos,
                       "ForSequenceClassification");
  json["architectures"] = {name.empty() ? architecture : name};
  json["id2label"] = nlohmann::ordered_json::object();
  for (std::int64_t i = 0; i < labels; ++i)
    json["id2label"][std::to_string(i)] = "LABEL_" + std::to_string(i);
  make_folder(folder);
  write_file_atomic(folder / "config.json", json.dump(2));
  write_file_atomic(folder / "model.safetensors", to_safetensors(tensors, model_metadata()));
}

inline std::vector<double> scores_of(const std::filesystem::path& folder,
                                     const std::vector<std::vector<std::int32_t>>& sequences,
                                     std::int64_t micro_batch_tokens,
                                     const kernels::KernelSet* kernels = nullptr) {
  Team team;
  MicroBatchRunner runner(team);
  return scores(read_reward_model(folder, kernels), runner, sequences, micro_batch_tokens);
}

}  // namespace rollcall::model::testing
