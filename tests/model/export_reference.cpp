// Writes the reference models with what Rollcall says of them, for
// tests/model/transformers_parity.py: export_reference FOLDER.
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "model/reference_models.hpp"
#include "model/tensors/model_folder.hpp"

#include <cstdio>
#include <filesystem>

namespace {

using namespace rollcall::model;

/// A model folder, reference.json with the inputs and results, gradient.safetensors with the
/// gradient under the weights' names.
void export_model(const std::filesystem::path& folder, const ModelConfig& config) {
  const testing::ReferenceResults r = testing::reference_results(config);
  write_model_folder(folder, config, testing::reference_weights(config));
  const nlohmann::json reference = {
      {"tokens", r.micro_batch.tokens},          {"offsets", r.micro_batch.offsets},
      {"shown", testing::kShownSequence},        {"logprob_weights", r.weights.logprob},
      {"entropy_weights", r.weights.entropy},    {"logprobs", r.columns.logprob},
      {"entropies", r.columns.entropy},          {"logits", r.logits},
      {"greedy_tokens", testing::kGreedyTokens}, {"greedy", r.greedy}};
  rollcall::write_file_atomic(folder / "reference.json", reference.dump());
  rollcall::write_file_atomic(folder / "gradient.safetensors",
                              to_model_safetensors(weight_layout(config), r.gradient));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: export_reference FOLDER\n", stderr);
    return 2;
  }
  for (const auto& [name, config] : testing::reference_models())
    export_model(std::filesystem::path(argv[1]) / name, config);
}
