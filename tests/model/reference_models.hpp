// The small random models and sequences that transformers judges: what export_reference writes and transformers_test.cpp compares.
#pragma once

#include "model/small_models.hpp"

#include <string>
#include <vector>

namespace rollcall::model::testing {

struct ReferenceModel {
  std::string name;
  ModelConfig config;
};

inline std::vector<ReferenceModel> reference_models() {
  std::vector<ReferenceModel> models;
  for (const Family family : kFamilies) models.push_back({name_of(family), small_config(family)});
  models.push_back({"qwen3_bias_tied", small_config(Family::qwen3)});  // Qwen3's bias also reaches the output projection
  models.back().config.attention_bias = true;
  models.back().config.tie_word_embeddings = true;
  return models;
}

inline std::vector<float> reference_weights(const ModelConfig& config) { return random_weights(config, 17); }

/// Sequences whose every token but the first is a target.
inline std::vector<Leaf> reference_leaves(const ModelConfig& config) {
  std::vector<Leaf> leaves;
  for (const std::int64_t length : {2, 9, 33, 64}) {
    Leaf leaf = random_leaf(config, {length}, std::uint64_t(length));
    leaf.targets.clear();
    for (std::int64_t t = 1; t < length; ++t) leaf.targets.push_back(t);
    leaves.push_back(std::move(leaf));
  }
  return leaves;
}

}  // namespace rollcall::model::testing
