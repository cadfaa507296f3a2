// Writes small random models with the log-probs of some sequences, for tests/model/transformers_parity.py: export_reference FOLDER.
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "model/small_models.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

namespace {

using namespace rollcall::model;

/// reference.json: sequences of tokens, and the log-prob of each token but the first given those before it.
void export_model(const std::filesystem::path& folder, const ModelConfig& config) {
  const std::vector<float> weights = rollcall::model::testing::random_weights(config, 17);
  const Policy policy(config, weights, {});
  nlohmann::json reference = {{"tokens", nlohmann::json::array()}, {"logprobs", nlohmann::json::array()}};
  for (const std::int64_t length : {2, 9, 33, 64}) {
    Leaf leaf = rollcall::model::testing::random_leaf(config, {length}, std::uint64_t(length));
    leaf.targets.clear();
    for (std::int64_t t = 1; t < length; ++t) leaf.targets.push_back(t);
    reference["tokens"].push_back(leaf.tokens);
    reference["logprobs"].push_back(forward(policy, leaf, 1.0).logprob);
  }
  write_model_folder(folder, config, weights);
  rollcall::write_file_atomic(folder / "reference.json", reference.dump());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: export_reference FOLDER\n", stderr);
    return 2;
  }
  using namespace rollcall::model::testing;
  for (const Family family : kFamilies) export_model(std::filesystem::path(argv[1]) / name_of(family), small_config(family));
  ModelConfig biased = small_config(Family::qwen3);  // Qwen3's bias also reaches the output projection
  biased.attention_bias = true;
  biased.tie_word_embeddings = true;
  export_model(std::filesystem::path(argv[1]) / "qwen3_bias_tied", biased);
}
