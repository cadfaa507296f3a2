// Reads a sequence classifier as a language model with one more tensor.
#include "model/train/reward_model.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "model/config/architectures.hpp"
#include "model/config/config_reader.hpp"
#include "model/tensors/adapter_folder.hpp"
#include "model/tensors/model_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace rollcall::model {
namespace {

namespace fs = std::filesystem;
using Json = ConfigReader::Json;

constexpr std::string_view kClassifier = "ForSequenceClassification",
                           kLanguageModel = "ForCausalLM";
constexpr const char* kScore = "score.weight";

ConfigReader read_config(const fs::path& folder) {
  return {read_file(folder / "config.json"), (folder / "config.json").string()};
}

/// The single name under "architectures", or an empty string if there is not exactly one.
std::string named(const ConfigReader& in) {
  const Json list = in.has("architectures") ? in.root().at("architectures") : Json();
  return list.is_array() && list.size() == 1 && list.at(0).is_string()
             ? list.at(0).get<std::string>()
             : std::string();
}

/// The number of tokens up to and including the one whose hidden state is scored.
std::size_t scored_length(const ModelConfig& config, std::span<const std::int32_t> tokens) {
  std::size_t length = tokens.size();
  while (length > 1 && tokens[length - 1] == config.pad_token_id) --length;
  return length;
}

std::string classifier_names() {
  std::string names;
  for (const ArchitectureRow& row : architectures()) {
    const std::string_view name = row.name;
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ",
                         name.substr(0, name.size() - kLanguageModel.size()), kClassifier);
  }
  return names;
}

}  // namespace

bool is_sequence_classifier(const fs::path& folder) {
  if (is_adapter_folder(folder)) return is_sequence_classifier(base_folder(folder));
  return named(read_config(folder)).ends_with(kClassifier);
}

ModelConfig read_reward_config(const fs::path& folder) {
  require<InputError>(!is_adapter_folder(folder), fmt::format("{} is an adapter", folder.string()),
                      "a reward model is read whole",
                      "merge it with merge_and_unload() of PEFT, and name the folder of the whole "
                      "reward model");
  const ConfigReader in = read_config(folder);
  const std::string name = named(in);
  const auto row =
      std::find_if(architectures().begin(), architectures().end(), [&](const ArchitectureRow& r) {
        const std::string_view family = r.name;
        return name == std::string(family.substr(0, family.size() - kLanguageModel.size()))
                           .append(kClassifier);
      });
  in.check(row != architectures().end(),
           fmt::format("has \"architectures\": {}", in.word(in.root(), "architectures", "none")),
           "a reward model is a sequence classifier with one label",
           fmt::format("name a folder with one of {}", classifier_names()));
  Json config = in.root();
  config["architectures"] = {row->name};
  config["tie_word_embeddings"] = true;  // the files have no head over the vocabulary
  return read_model_config(
      {config.dump(-1, ' ', false, Json::error_handler_t::replace), in.origin()});
}

RewardModel read_reward_model(const fs::path& folder, const kernels::KernelSet* kernels,
                              const Threads& threads) {
  const ModelConfig config = read_reward_config(folder);
  const WeightFiles files = WeightFiles::open(folder);
  const auto found = files.tensors().find(kScore);
  require<InputError>(found != files.tensors().end(),
                      fmt::format("{} has no tensor {}", files.origin(), kScore),
                      "it makes a score of the last hidden state",
                      "copy config.json and weights from the same reward model");
  const auto& shape = found->second->tensor(kScore).shape;
  require<InputError>(
      shape == std::vector<std::int64_t>{1, config.hidden_size},
      fmt::format("tensor {} of {} has shape [{}]", kScore, files.origin(), fmt::join(shape, ",")),
      fmt::format("one score of {} hidden values is needed, not classes", config.hidden_size),
      "use a reward model with one label");
  return {read_policy(config, files, {kScore}, kernels, threads), found->second->floats(kScore)};
}

std::vector<double> scores(const RewardModel& model, MicroBatchRunner& runner,
                           std::span<const std::vector<std::int32_t>> sequences,
                           std::int64_t micro_batch_tokens) {
  const ModelConfig& config = model.policy.config();
  std::vector<double> all;
  MicroBatch micro_batch{.tokens = {}, .offsets = {0}, .targets = {}, .hidden = true};
  const auto run = [&] {
    const auto hidden = runner.forward(model.policy, micro_batch, 1.0).hidden;
    for (std::size_t s = 0; s < micro_batch.targets.size(); ++s) {
      double sum = 0.0;
      for (std::size_t k = 0; k < model.score.size(); ++k)
        sum += double(model.score[k]) * double(hidden[s * model.score.size() + k]);
      all.push_back(sum);
    }
    micro_batch.tokens.clear(), micro_batch.offsets = {0}, micro_batch.targets.clear();
  };
  for (const auto& tokens : sequences) {
    expect(!tokens.empty() && std::int64_t(tokens.size()) < config.max_position_embeddings,
           "a sequence fits the reward model");
    const std::size_t length = scored_length(config, tokens);
    if (!micro_batch.targets.empty() &&
        std::int64_t(micro_batch.tokens.size() + length) > micro_batch_tokens)
      run();
    micro_batch.tokens.insert(micro_batch.tokens.end(), tokens.begin(),
                              tokens.begin() + std::ptrdiff_t(length));
    micro_batch.targets.push_back(std::int64_t(micro_batch.tokens.size()));
    micro_batch.tokens.push_back(0);  // any token: as a target it asks for the hidden
                                      // state before it, and is not read itself
    micro_batch.offsets.push_back(std::int64_t(micro_batch.tokens.size()));
  }
  if (!micro_batch.targets.empty()) run();
  return all;
}

}  // namespace rollcall::model
