// Writes the reference models with the log-probs of their sequences, for tests/model/transformers_parity.py: export_reference FOLDER.
#include "base/file.hpp"
#include "model/model_folder.hpp"
#include "model/reference_models.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

namespace {

using namespace rollcall::model;

/// reference.json: sequences of tokens, the log-prob of each token but the first given those before it.
void export_model(const std::filesystem::path& folder, const ModelConfig& config) {
  const std::vector<float> weights = testing::reference_weights(config);
  const Policy policy(config, weights, {});
  nlohmann::json reference = {{"tokens", nlohmann::json::array()}, {"logprobs", nlohmann::json::array()}};
  for (const Leaf& leaf : testing::reference_leaves(config)) {
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
  for (const auto& [name, config] : testing::reference_models()) export_model(std::filesystem::path(argv[1]) / name, config);
}
