// config.json of the Llama, Qwen2 and Qwen3 families, in and out; what the engine cannot run is refused by name.
#include "model/weights.hpp"

#include "base/error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace rollcall::model {
namespace {

using Json = nlohmann::ordered_json;

/// One config.json with typed, named access.
class ConfigReader {
 public:
  ConfigReader(const std::string& text, std::string origin) : origin_(std::move(origin)) {
    json_ = Json::parse(text, nullptr, false);
    check(json_.is_object(), "is not a JSON object", "the model's shape is read from it", "copy the config.json that came with the weights");
  }

  void check(bool ok, const std::string& problem, const char* why, const char* suggestion) const {
    require<InputError>(ok, fmt::format("{} {}", origin_, problem), why, suggestion);
  }
  bool has(const Json& table, const char* key) const { return table.contains(key) && !table.at(key).is_null(); }
  bool has(const char* key) const { return has(json_, key); }
  const Json& root() const { return json_; }

  std::int64_t integer(const char* key) const {
    check(has(key), fmt::format("has no \"{}\"", key), "the model's shape needs it", "copy the config.json that came with the weights");
    const Json& value = json_.at(key);
    check(value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= 1e9, fmt::format("has \"{}\": {}", key, value.dump()),
          "a whole number from 1 to 1e9 is needed", "copy the config.json that came with the weights");
    return value.get<std::int64_t>();
  }
  std::int64_t integer(const char* key, std::int64_t fallback) const { return has(key) ? integer(key) : fallback; }
  double positive(const Json& table, const char* key, double fallback) const {
    if (!has(table, key)) return fallback;
    const Json& value = table.at(key);
    check(value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>()), fmt::format("has \"{}\": {}", key, value.dump()),
          "a positive number is needed", "copy the config.json that came with the weights");
    return value.get<double>();
  }
  bool boolean(const char* key) const {
    if (!has(key)) return false;
    check(json_.at(key).is_boolean(), fmt::format("has \"{}\": {}", key, json_.at(key).dump()), "true or false is needed", "correct the value");
    return json_.at(key).get<bool>();
  }
  std::string word(const Json& table, const char* key, const std::string& fallback) const {
    if (!has(table, key)) return fallback;
    return table.at(key).is_string() ? table.at(key).get<std::string>() : table.at(key).dump();
  }
  /// A token id or -1; lists of one are unwrapped.
  std::int64_t token(const char* key) const {
    if (!has(key)) return -1;
    const Json& value = json_.at(key);
    const Json& one = value.is_array() && value.size() == 1 ? value.at(0) : value;
    check(one.is_number_integer() && one.get<double>() >= 0 && one.get<double>() < 2147483648.0, fmt::format("has \"{}\": {}", key, value.dump()),
          "generation ends at exactly one token", "write the single id that ends an answer");
    return one.get<std::int64_t>();
  }

 private:
  Json json_;
  std::string origin_;
};

void refuse_unsupported(const ConfigReader& in, const std::string& type) {
  const auto refuse = [&](bool found, const std::string& what) {
    in.check(!found, "asks for " + what, "log-probs would differ from the model's own", "use a Llama, Qwen2 or Qwen3 model without it");
  };
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!in.has(key)) continue;
    const Json& rope = in.root().at(key);
    in.check(rope.is_object(), fmt::format("has \"{}\": {}", key, rope.dump()), "a table is needed", "copy the config.json that came with the weights");
    const std::string kind = in.word(rope, "rope_type", in.word(rope, "type", "default"));
    refuse(kind != "default" || in.has(rope, "factor"), fmt::format("rope scaling ({} of type {})", key, kind));
    refuse(in.positive(rope, "partial_rotary_factor", 1.0) != 1.0, "partial rotary embeddings");
  }
  refuse(in.positive(in.root(), "partial_rotary_factor", 1.0) != 1.0, "partial rotary embeddings");
  refuse(in.boolean("use_sliding_window"), "sliding-window attention (use_sliding_window)");
  if (in.has("layer_types")) refuse(in.root().at("layer_types").dump().find("sliding") != std::string::npos, "sliding-window attention (layer_types)");
  refuse(in.boolean("mlp_bias"), "biases in the MLP (mlp_bias)");
  refuse(type == "llama" && in.boolean("attention_bias"), "Llama with attention_bias");
  refuse(in.has("quantization_config"), "quantized weights (quantization_config)");
  const std::string activation = in.word(in.root(), "hidden_act", "silu");
  refuse(activation != "silu", fmt::format("the activation {}", activation));
}

/// "llama", "qwen2" or "qwen3" from model_type, or from architectures where it is missing.
std::string model_type(const ConfigReader& in) {
  std::string type = in.word(in.root(), "model_type", "");
  std::string architecture;
  if (in.has("architectures") && in.root().at("architectures").is_array() && !in.root().at("architectures").empty()) {
    const Json& first = in.root().at("architectures").at(0);
    architecture = first.is_string() ? first.get<std::string>() : first.dump();
  }
  const auto causal = [](const std::string& t) { return t == "llama" ? "LlamaForCausalLM" : t == "qwen2" ? "Qwen2ForCausalLM" : "Qwen3ForCausalLM"; };
  if (type.empty()) {
    for (const char* known : {"llama", "qwen2", "qwen3"}) type = architecture == causal(known) ? known : type;
  }
  const bool known = (type == "llama" || type == "qwen2" || type == "qwen3") && (architecture.empty() || architecture == causal(type));
  in.check(known, fmt::format("describes the unsupported architecture \"{}\" (model_type \"{}\")", architecture, type),
           "the engine runs LlamaForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM", "choose a model of these families");
  return type;
}

void check_shape(const ConfigReader& in, const ModelConfig& c) {
  const char* copy = "copy the config.json that came with the weights";
  in.check(c.num_attention_heads % c.num_key_value_heads == 0, fmt::format("has {} heads over {} key heads", c.num_attention_heads, c.num_key_value_heads),
           "every key head serves the same number of query heads", copy);
  in.check(c.head_dim % 2 == 0, fmt::format("has an odd head_dim of {}", c.head_dim), "rotary embeddings turn pairs", copy);
  in.check(c.eos_token_id < c.vocab_size && c.bos_token_id < c.vocab_size, "names a special token beyond vocab_size", "it could never be sampled", copy);
}

}  // namespace

ModelConfig model_config(const ModelSection& section, std::int64_t vocab_size, std::int64_t eos_token_id) {
  ModelConfig c;
  c.vocab_size = vocab_size;
  c.hidden_size = section.hidden_size;
  c.intermediate_size = section.intermediate_size;
  c.num_hidden_layers = section.num_hidden_layers;
  c.num_attention_heads = section.num_attention_heads;
  c.num_key_value_heads = section.num_key_value_heads;
  c.head_dim = section.head_dim;
  c.max_position_embeddings = section.max_position_embeddings;
  c.rope_theta = section.rope_theta;
  c.rms_norm_eps = section.rms_norm_eps;
  c.initializer_range = section.initializer_range;
  c.tie_word_embeddings = section.tie_word_embeddings;
  c.qk_norm = section.qk_norm;
  c.attention_bias = section.attention_bias;
  c.eos_token_id = eos_token_id;
  return c;
}

ModelConfig read_model_config(const std::string& config_json_text, const std::string& origin) {
  const ConfigReader in(config_json_text, origin);
  const std::string type = model_type(in);
  refuse_unsupported(in, type);
  ModelConfig c;
  c.vocab_size = in.integer("vocab_size");
  c.hidden_size = in.integer("hidden_size");
  c.intermediate_size = in.integer("intermediate_size");
  c.num_hidden_layers = in.integer("num_hidden_layers");
  c.num_attention_heads = in.integer("num_attention_heads");
  c.num_key_value_heads = type == "llama" ? in.integer("num_key_value_heads", c.num_attention_heads) : in.integer("num_key_value_heads");
  c.head_dim = type == "qwen3" ? in.integer("head_dim") : in.integer("head_dim", std::max<std::int64_t>(1, c.hidden_size / c.num_attention_heads));
  c.max_position_embeddings = in.integer("max_position_embeddings");
  const double theta = in.positive(in.root(), "rope_theta", c.rope_theta);
  c.rope_theta = in.has("rope_parameters") ? in.positive(in.root().at("rope_parameters"), "rope_theta", theta) : theta;
  c.rms_norm_eps = in.positive(in.root(), "rms_norm_eps", c.rms_norm_eps);
  c.initializer_range = in.positive(in.root(), "initializer_range", c.initializer_range);
  c.tie_word_embeddings = in.boolean("tie_word_embeddings");
  c.qk_norm = type == "qwen3";
  c.attention_bias = type == "qwen2" || (type == "qwen3" && in.boolean("attention_bias"));
  c.bos_token_id = in.token("bos_token_id");
  c.eos_token_id = in.token("eos_token_id");
  check_shape(in, c);
  return c;
}

std::string to_config_json(const ModelConfig& c) {
  const std::string family = c.qk_norm ? "Qwen3" : c.attention_bias ? "Qwen2" : "Llama";
  const auto token = [](std::int64_t id) { return id < 0 ? Json(nullptr) : Json(id); };
  Json json;
  json["architectures"] = {family + "ForCausalLM"};
  json["model_type"] = c.qk_norm ? "qwen3" : c.attention_bias ? "qwen2" : "llama";
  json["vocab_size"] = c.vocab_size;
  json["hidden_size"] = c.hidden_size;
  json["intermediate_size"] = c.intermediate_size;
  json["num_hidden_layers"] = c.num_hidden_layers;
  json["num_attention_heads"] = c.num_attention_heads;
  json["num_key_value_heads"] = c.num_key_value_heads;
  json["head_dim"] = c.head_dim;
  json["hidden_act"] = "silu";
  json["max_position_embeddings"] = c.max_position_embeddings;
  json["rope_theta"] = c.rope_theta;
  json["rms_norm_eps"] = c.rms_norm_eps;
  json["initializer_range"] = c.initializer_range;
  json["tie_word_embeddings"] = c.tie_word_embeddings;
  if (family != "Qwen2") json["attention_bias"] = c.attention_bias;
  if (family == "Llama") json["mlp_bias"] = false;
  if (family != "Llama") json["use_sliding_window"] = false;
  json["bos_token_id"] = token(c.bos_token_id);
  json["eos_token_id"] = token(c.eos_token_id);
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

}  // namespace rollcall::model
