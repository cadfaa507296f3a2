// Reads adapter_config.json and refuses what is more than LoRA on matrices.
#include "model/config/adapter_config.hpp"

#include "model/config/config_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string_view>

namespace rollcall::model {
namespace {

using Json = ConfigReader::Json;

constexpr const char *kCopy = "copy the adapter_config.json that came with the adapter",
                     *kMerge =
                         "merge it with merge_and_unload() of PEFT, and name the folder of "
                         "the whole model";

/// A key that changes what an adapter is, unless it is off.
struct KeyRule {
  const char* key;
  const char* why;
  const char* suggestion = kMerge;
};
constexpr const char* kOneRank = "all matrices of an adapter have one rank and one alpha";
constexpr const char* kAllLayers = "an adapter changes its matrices in all layers";
constexpr const char* kMatricesOnly = "an adapter changes matrices of the blocks alone";
constexpr std::array<KeyRule, 16> kRules = {{
    {"lora_dropout", "adapters have no dropout",
     "set it to 0 there: what an adapter computes does not depend on it once it is trained"},
    {"bias", kMatricesOnly},
    {"lora_bias", kMatricesOnly},
    {"modules_to_save", kMatricesOnly},
    {"target_parameters", kMatricesOnly},
    {"trainable_token_indices", kMatricesOnly},
    {"use_dora", "DoRA also scales the matrices"},
    {"use_qalora", "QA-LoRA also pools what a matrix reads"},
    {"alora_invocation_tokens", "the adapter would change a part of the tokens"},
    {"rank_pattern", kOneRank},
    {"alpha_pattern", kOneRank},
    {"layers_to_transform", kAllLayers},
    {"exclude_modules", kAllLayers},
    {"layer_replication", "the model keeps its layers"},
    {"fan_in_fan_out", "matrices are stored as [outputs, inputs]"},
    {"megatron_config", "the layers are not those of Megatron"},
}};
/// Keys that are read, and those that change nothing in a trained adapter.
constexpr std::array<std::string_view, 19> kOtherKeys = {"peft_type",
                                                         "task_type",
                                                         "base_model_name_or_path",
                                                         "r",
                                                         "lora_alpha",
                                                         "use_rslora",
                                                         "revision",
                                                         "target_modules",
                                                         "init_lora_weights",
                                                         "auto_mapping",
                                                         "inference_mode",
                                                         "peft_version",
                                                         "corda_config",
                                                         "layers_pattern",
                                                         "megatron_core",
                                                         "eva_config",
                                                         "qalora_group_size",
                                                         "runtime_config",
                                                         "loftq_config"};
/// Values of init_lora_weights with which the weights of the base stay as they are.
constexpr std::array<std::string_view, 3> kPlainStarts = {"gaussian", "eva", "orthogonal"};

/// Whether a value means that what its key names is not there.
bool is_off(const Json& value) {
  return value.is_null() || value == false || value == 0 || value == "none" || value == "" ||
         (value.is_structured() && value.empty());
}

[[noreturn]] void refuse(const ConfigReader& in, const std::string& key, const char* why,
                         const char* suggestion = kMerge) {
  in.check(false, fmt::format("has \"{}\": {}", key, in.word(in.root(), key.c_str(), "null")), why,
           suggestion);
  throw std::logic_error("check() threw");
}

void check_keys(const ConfigReader& in) {
  for (const auto& [key, value] : in.root().items()) {
    if (is_off(value)) continue;
    const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                   [&](const KeyRule& known) { return key == known.key; });
    if (rule != kRules.end()) refuse(in, key, rule->why, rule->suggestion);
    if (std::find(kOtherKeys.begin(), kOtherKeys.end(), key) == kOtherKeys.end())
      refuse(in, key, "what it does to the model is not known");
  }
}

/// Refuses adapters of another kind, and those for which the weights of the base were changed too.
void check_kind(const ConfigReader& in) {
  const Json& root = in.root();
  if (in.word(root, "peft_type", "") != "LORA")
    refuse(in, "peft_type", "the only adapters that are read are those of LORA");
  const std::string task = in.word(root, "task_type", "CAUSAL_LM");
  if (task == "SEQ_CLS")
    refuse(in, "task_type", "a reward model is read whole, without an adapter");
  if (task != "CAUSAL_LM")
    refuse(in, "task_type", "the model writes texts, for which the type is CAUSAL_LM");
  const char* start = "init_lora_weights";
  if (!in.has(start) || root.at(start).is_boolean()) return;
  const std::string said = in.word(root, start, "");
  if (std::find(kPlainStarts.begin(), kPlainStarts.end(), said) == kPlainStarts.end())
    refuse(in, start, "the weights of the base were changed when the adapter was made");
}

std::vector<std::string> read_targets(const ConfigReader& in) {
  const char* key = "target_modules";
  in.check(in.has(key), fmt::format("has no \"{}\"", key), "it says which matrices change", kCopy);
  const Json& list = in.root().at(key);
  if (list.is_string())
    refuse(in, key, "a pattern of names is not read",
           "write the names of the modules there, for example [\"q_proj\", \"v_proj\"]");
  const bool named = list.is_array() && !list.empty() &&
                     std::all_of(list.begin(), list.end(),
                                 [](const Json& name) { return name.is_string() && name != ""; });
  if (!named) refuse(in, key, "a list with the names of modules is needed", kCopy);
  return list.get<std::vector<std::string>>();
}

}  // namespace

double AdapterConfig::scale() const {
  return alpha / (rslora ? std::sqrt(double(rank)) : double(rank));
}

StoredAdapter read_adapter_config(const std::string& text, const std::string& origin) {
  const ConfigReader in(text, origin);
  check_kind(in);
  check_keys(in);
  StoredAdapter adapter;
  adapter.config.rank = in.integer("r");
  adapter.config.alpha = in.positive(in.root(), "lora_alpha");
  adapter.config.rslora = in.boolean(in.root(), "use_rslora", false);
  adapter.config.targets = read_targets(in);
  const char* base = "base_model_name_or_path";
  in.check(in.has(base) && in.root().at(base).is_string() && in.root().at(base) != "",
           fmt::format("names no model under \"{}\"", base),
           "an adapter is a change of the weights of one model",
           "write the path of that model's folder there");
  adapter.base = in.root().at(base).get<std::string>();
  return adapter;
}

std::string to_adapter_config_json(const StoredAdapter& adapter) {
  const AdapterConfig& config = adapter.config;
  const bool whole = config.alpha == std::floor(config.alpha) && config.alpha < 1e15;
  Json json;
  json["peft_type"] = "LORA";
  json["task_type"] = "CAUSAL_LM";
  json["base_model_name_or_path"] = adapter.base;
  json["r"] = config.rank;
  // PEFT writes a whole number, and some readers accept nothing else.
  json["lora_alpha"] = whole ? Json(std::int64_t(config.alpha)) : Json(config.alpha);
  json["use_rslora"] = config.rslora;
  json["target_modules"] = config.targets;
  json["lora_dropout"] = 0.0;
  json["bias"] = "none";
  json["fan_in_fan_out"] = false;
  json["init_lora_weights"] = true;
  json["inference_mode"] = true;
  return json.dump(2) + "\n";
}

}  // namespace rollcall::model
