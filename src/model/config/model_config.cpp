// Reads and writes config.json for the architectures of the table.
#include "model/config/model_config.hpp"

#include "base/errors/error.hpp"
#include "model/config/config_rules.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall::model {
namespace {

using Json = ConfigReader::Json;

constexpr const char* kCopy = "copy the config.json that came with the weights";
constexpr std::array kScalingTypes = {RopeScaling::Type::none, RopeScaling::Type::linear,
                                      RopeScaling::Type::llama3, RopeScaling::Type::yarn};
constexpr std::array<const char*, 15> kRopeKeys = {"rope_type",
                                                   "type",
                                                   "rope_theta",
                                                   "factor",
                                                   "low_freq_factor",
                                                   "high_freq_factor",
                                                   "beta_fast",
                                                   "beta_slow",
                                                   "mscale",
                                                   "mscale_all_dim",
                                                   "truncate",
                                                   "attention_factor",
                                                   "finetuned",
                                                   "partial_rotary_factor",
                                                   "original_max_position_embeddings"};

/// The key of the table with the scaling. transformers 4 calls it rope_scaling. transformers 5
/// calls it rope_parameters, but a rope_scaling takes precedence.
const char* rope_key(const ConfigReader& in) {
  const bool scaling = in.has("rope_scaling") && !in.root().at("rope_scaling").empty();
  return scaling ? "rope_scaling" : in.has("rope_parameters") ? "rope_parameters" : nullptr;
}

void read_yarn(const ConfigReader& in, const Json& table, RopeScaling& s) {
  const auto optional = [&](const char* key) {
    return ConfigReader::has(table, key) ? std::optional(in.positive(table, key)) : std::nullopt;
  };
  // Zero means the default, as in transformers.
  const auto number_or = [&](const char* key, double fallback) {
    return ConfigReader::has(table, key) && table.at(key) != 0 ? in.positive(table, key) : fallback;
  };
  s.beta_fast = number_or("beta_fast", s.beta_fast);
  s.beta_slow = number_or("beta_slow", s.beta_slow);
  s.truncate = in.boolean(table, "truncate", true);
  s.attention_factor = optional("attention_factor");
  if (ConfigReader::has(table, "mscale") && table.at("mscale") != 0)
    s.mscale = in.positive(table, "mscale");
  if (ConfigReader::has(table, "mscale_all_dim") && table.at("mscale_all_dim") != 0)
    s.mscale_all_dim = in.positive(table, "mscale_all_dim");
}

/// The type and the numbers in the table of rotary settings under `key`.
RopeScaling read_scaling(const ConfigReader& in, const char* key, const ModelConfig& c) {
  const Json& table = in.root().at(key);
  in.check(table.is_object(), fmt::format("has \"{}\": {}", key, in.word(in.root(), key, "")),
           "a table is needed", kCopy);
  const std::string kind = in.word(table, "rope_type", in.word(table, "type", "default"));
  const auto type = std::find_if(kScalingTypes.begin(), kScalingTypes.end(),
                                 [&](RopeScaling::Type t) { return kind == name_of(t); });
  if (type == kScalingTypes.end())
    in.refuse(key, table, "rope scaling is default, linear, llama3 or yarn");
  for (const auto& [name, value] : table.items()) {
    const bool known = std::find(kRopeKeys.begin(), kRopeKeys.end(), name) != kRopeKeys.end();
    if (!known && !value.is_null())
      in.refuse(std::string(key) + "." + name, value, "what it does to the rotation is not known");
  }
  if (in.positive(table, "partial_rotary_factor", 1.0) != 1.0)
    in.refuse(key, table, "all dimensions of a head are rotated");
  RopeScaling s;
  s.type = *type;
  if (s.type == RopeScaling::Type::none) {
    if (in.positive(table, "factor", 1.0) != 1.0)
      in.refuse(key, table, "a factor needs a type of scaling");
    return s;
  }
  s.factor = in.positive(table, "factor");
  if (s.type == RopeScaling::Type::linear) return s;
  const char* original = "original_max_position_embeddings";
  if (in.has(original))
    in.refuse(original, in.root().at(original), std::string("it belongs in ") + key);
  s.original_max_position_embeddings =
      ConfigReader::has(table, original) ? in.integer(table, original) : c.max_position_embeddings;
  if (s.type == RopeScaling::Type::yarn) {
    read_yarn(in, table, s);
    return s;
  }
  s.low_freq_factor = in.positive(table, "low_freq_factor");
  s.high_freq_factor = in.positive(table, "high_freq_factor");
  if (s.high_freq_factor <= s.low_freq_factor)
    in.refuse(key, table, "high_freq_factor must be above low_freq_factor");
  return s;
}

void read_rope(const ConfigReader& in, const ArchitectureRow& row, ModelConfig& c) {
  const double theta = in.positive(in.root(), "rope_theta", row.default_rope_theta);
  const char* key = rope_key(in);
  if (key != nullptr) c.rope_scaling = read_scaling(in, key, c);
  c.rope_theta = key == nullptr ? theta : in.positive(in.root().at(key), "rope_theta", theta);
  if (c.rope_scaling.type == RopeScaling::Type::yarn && c.rope_theta <= 1.0)
    in.refuse(key, in.root().at(key), "yarn needs a rope_theta above 1");
}

/// In SmolLM3 no_rope_layers has a 1 for every layer with rotary embeddings. Without that key every
/// no_rope_layer_interval-th layer has no rotary embeddings.
std::vector<std::int64_t> read_layers_without_rope(const ConfigReader& in, std::int64_t layers) {
  std::vector<std::int64_t> without;
  if (!in.has("no_rope_layers")) {
    const std::int64_t interval = in.integer("no_rope_layer_interval", 4);
    for (std::int64_t layer = interval - 1; layer < layers; layer += interval)
      without.push_back(layer);
    return without;
  }
  const Json& list = in.root().at("no_rope_layers");
  const auto is_flag = [](const Json& v) { return v.is_boolean() || v == 0 || v == 1; };
  in.check(list.is_array() && std::int64_t(list.size()) >= layers &&
               std::all_of(list.begin(), list.end(), is_flag),
           "has \"no_rope_layers\" that is not a list with a 0 or 1 for each layer",
           "it says which layers have rotary embeddings", kCopy);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (list.at(std::size_t(layer)) == 0 || list.at(std::size_t(layer)) == false)
      without.push_back(layer);
  }
  return without;
}

std::int64_t token_id(const ConfigReader& in, const char* key, const Json& value,
                      std::int64_t vocab_size) {
  in.check(
      value.is_number_integer() && value.get<double>() >= 0 &&
          value.get<double>() < double(vocab_size),
      fmt::format("has \"{}\": {}", key, value.dump(-1, ' ', true, Json::error_handler_t::replace)),
      fmt::format("a token is a number below the vocab_size of {}", vocab_size), kCopy);
  return value.get<std::int64_t>();
}

/// A token id, or -1. If the key is missing: the architecture's default, provided that the
/// vocabulary has that token.
std::int64_t read_token(const ConfigReader& in, const char* key, std::int64_t fallback,
                        std::int64_t vocab_size) {
  if (in.is_absent(key)) return fallback < vocab_size ? fallback : -1;
  const bool none = !in.has(key) || in.root().at(key) == -1;  // -1 is in old Llama files
  return none ? -1 : token_id(in, key, in.root().at(key), vocab_size);
}

/// Adds the end tokens, which are one id or a list of ids.
void add_end_tokens(const ConfigReader& in, ModelConfig& c) {
  const char* key = "eos_token_id";
  if (!in.has(key)) return;
  const Json& value = in.root().at(key);
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    const std::int64_t id = token_id(in, key, one, c.vocab_size);
    if (!is_end_token(c, id)) c.eos_token_ids.push_back(id);
  }
}

void read_tokens(const ConfigReader& in, const NamedText& generation, const ArchitectureRow& row,
                 ModelConfig& c) {
  c.bos_token_id = read_token(in, "bos_token_id", row.default_bos, c.vocab_size);
  c.pad_token_id = read_token(in, "pad_token_id", row.default_pad, c.vocab_size);
  add_end_tokens(in, c);
  if (!generation.text.empty()) add_end_tokens(ConfigReader(generation.text, generation.origin), c);
  const bool unsaid = in.is_absent("eos_token_id") && c.eos_token_ids.empty();
  if (unsaid && row.default_eos >= 0 && row.default_eos < c.vocab_size)
    c.eos_token_ids.push_back(row.default_eos);
}

bool has_bias(const ConfigReader& in, Bias bias, const char* key) {
  return bias == Bias::always || (bias == Bias::by_key && in.boolean(in.root(), key, false));
}

void check_shape(const ConfigReader& in, const ModelConfig& c) {
  in.check(
      c.num_attention_heads % c.num_key_value_heads == 0,
      fmt::format("has {} heads over {} key heads", c.num_attention_heads, c.num_key_value_heads),
      "every key head serves the same number of query heads", kCopy);
  in.check(c.head_dim % 2 == 0, fmt::format("has an odd head_dim of {}", c.head_dim),
           "rotary embeddings rotate pairs of dimensions", kCopy);
  // This check keeps every size far below the 64-bit limit. No real model comes near it.
  const double widest =
      double(std::max({c.vocab_size, c.intermediate_size, c.num_attention_heads * c.head_dim}));
  in.check(c.num_hidden_layers <= 10'000 &&
               double(c.num_attention_heads) * double(c.head_dim) < 1e9 &&
               widest * double(c.hidden_size) * double(c.num_hidden_layers) < 1e15,
           "describes a model of over 1e15 weights", "that is beyond any machine", kCopy);
}

Json written_scaling(const RopeScaling& s) {
  Json json = {{"rope_type", name_of(s.type)}, {"factor", s.factor}};
  if (s.type == RopeScaling::Type::linear) return json;
  json["original_max_position_embeddings"] = s.original_max_position_embeddings;
  if (s.type == RopeScaling::Type::llama3) {
    json["low_freq_factor"] = s.low_freq_factor;
    json["high_freq_factor"] = s.high_freq_factor;
    return json;
  }
  json["beta_fast"] = s.beta_fast;
  json["beta_slow"] = s.beta_slow;
  json["truncate"] = s.truncate;
  if (s.attention_factor) json["attention_factor"] = *s.attention_factor;
  if (s.mscale) json["mscale"] = *s.mscale;
  if (s.mscale_all_dim) json["mscale_all_dim"] = *s.mscale_all_dim;
  return json;
}

Json written_tokens(const std::vector<std::int64_t>& ids) {
  return ids.empty() ? Json(nullptr) : ids.size() == 1 ? Json(ids.front()) : Json(ids);
}

/// Writes the keys that only some architectures have.
void write_particulars(const ModelConfig& c, const ArchitectureRow& row, Json& json) {
  if (row.attention_bias == Bias::by_key) json["attention_bias"] = c.attention_bias;
  if (row.mlp_bias == Bias::by_key) json["mlp_bias"] = c.mlp_bias;
  if (row.sliding_window) json["use_sliding_window"] = false;
  if (!row.layers_without_rope) return;
  json["no_rope_layers"] = Json::array();
  for (std::int64_t layer = 0; layer < c.num_hidden_layers; ++layer)
    json["no_rope_layers"].push_back(int(has_rope(c, layer)));
}

}  // namespace

ModelConfig model_config(const ModelSection& section, std::int64_t vocab_size,
                         std::int64_t eos_token_id) {
  ModelConfig c;
  c.architecture = section.qk_norm          ? Architecture::qwen3
                   : section.attention_bias ? Architecture::qwen2
                                            : Architecture::llama;
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
  c.output_bias = section.attention_bias && section.qk_norm;
  c.eos_token_ids = {eos_token_id};
  return c;
}

ModelConfig read_model_config(const NamedText& config, const NamedText& generation) {
  const ConfigReader in(config.text, config.origin);
  const ArchitectureRow& row = find_row(in);
  check_keys(in, row);
  ModelConfig c;
  c.architecture = row.architecture;
  c.vocab_size = in.integer("vocab_size");
  c.hidden_size = in.integer("hidden_size");
  c.intermediate_size = in.integer("intermediate_size");
  c.num_hidden_layers = in.integer("num_hidden_layers");
  c.num_attention_heads = in.integer("num_attention_heads");
  const bool by_default = in.is_absent("num_key_value_heads") && row.default_key_heads > 0;
  c.num_key_value_heads =
      in.integer("num_key_value_heads", by_default ? row.default_key_heads : c.num_attention_heads);
  const std::int64_t divided = std::max<std::int64_t>(1, c.hidden_size / c.num_attention_heads);
  c.head_dim = in.integer("head_dim", row.default_head_dim > 0 ? row.default_head_dim : divided);
  c.max_position_embeddings = in.integer("max_position_embeddings", row.default_positions);
  c.rms_norm_eps = in.positive(in.root(), "rms_norm_eps", c.rms_norm_eps);
  c.initializer_range = in.positive(in.root(), "initializer_range", c.initializer_range);
  c.tie_word_embeddings = in.boolean(in.root(), "tie_word_embeddings", row.default_tied);
  c.qk_norm = row.qk_norm;
  c.attention_bias = has_bias(in, row.attention_bias, "attention_bias");
  c.output_bias = has_bias(in, row.output_bias, "attention_bias");
  c.mlp_bias = has_bias(in, row.mlp_bias, "mlp_bias");
  check_shape(in, c);
  read_rope(in, row, c);
  if (row.layers_without_rope)
    c.layers_without_rope = read_layers_without_rope(in, c.num_hidden_layers);
  read_tokens(in, generation, row, c);
  return c;
}

std::string to_config_json(const ModelConfig& c, const std::string& dtype) {
  const ArchitectureRow& row = row_of(c.architecture);
  const auto token = [](std::int64_t id) { return id < 0 ? Json(nullptr) : Json(id); };
  Json json;
  json["architectures"] = {row.name};
  json["model_type"] = row.model_type;
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
  if (c.rope_scaling.type != RopeScaling::Type::none)
    json["rope_scaling"] = written_scaling(c.rope_scaling);
  json["rms_norm_eps"] = c.rms_norm_eps;
  json["initializer_range"] = c.initializer_range;
  json["tie_word_embeddings"] = c.tie_word_embeddings;
  write_particulars(c, row, json);
  json["bos_token_id"] = token(c.bos_token_id);
  json["eos_token_id"] = written_tokens(c.eos_token_ids);
  json["pad_token_id"] = token(c.pad_token_id);
  json["torch_dtype"] = dtype;
  return json.dump(2) + "\n";
}

}  // namespace rollcall::model
