// Refuses keys of config.json. Keys that transformers itself ignores for an architecture
// (use_cache, pretraining_tp, attention_dropout when scoring) are ignored here as well.
#include "model/config/config_rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace rollcall::model {
namespace {

using Json = ConfigReader::Json;

/// A key, and a JSON list of the values for which it has no effect.
struct KeyRule {
  const char* key;
  const char* harmless;
  const char* why;
};

constexpr const char* kOtherLayers = "its layers differ from those of the architectures below";
constexpr std::array<KeyRule, 24> kRules = {{
    {"quantization_config", "[null]", "weights are read from F32, BF16 and F16"},
    {"hidden_act", R"([null, "silu", "swish"])", "the MLP's activation is silu"},
    {"partial_rotary_factor", "[null, 1]", "all dimensions of a head are rotated"},
    {"is_encoder_decoder", "[null, false]", kOtherLayers},
    {"add_cross_attention", "[null, false]", kOtherLayers},
    {"alibi", "[null, false]", "positions are rotary"},
    {"parallel_attn", "[null, false]", kOtherLayers},
    {"use_qk_norm", "[null, false]", kOtherLayers},
    {"qk_layernorm", "[null, false]", kOtherLayers},
    {"attn_logit_softcapping", "[null, 0]", "logits are not capped"},
    {"final_logit_softcapping", "[null, 0]", "logits are not capped"},
    {"query_pre_attn_scalar", "[null]", "scores are divided by the root of head_dim"},
    {"attention_multiplier", "[null]", "scores are divided by the root of head_dim"},
    {"embedding_multiplier", "[null, 1]", "embeddings are used as they are"},
    {"residual_multiplier", "[null, 1]", "residuals are added as they are"},
    {"logits_scaling", "[null, 1]", "logits are used as they are"},
    {"logit_scale", "[null, 1]", "logits are used as they are"},
    {"attention_chunk_size", "[null, 0]", "attention sees all earlier tokens"},
    {"num_experts", "[null, 0]", "the MLP is dense"},
    {"num_local_experts", "[null, 0]", "the MLP is dense"},
    {"n_routed_experts", "[null, 0]", "the MLP is dense"},
    {"kv_lora_rank", "[null, 0]", kOtherLayers},
    {"cross_attention_layers", "[null, []]", kOtherLayers},
    {"num_nextn_predict_layers", "[null, 0]", kOtherLayers},
}};

void check_layer_types(const ConfigReader& in, const Json& value) {
  const bool full = value.is_null() ||
                    (value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& v) {
                       return v == "full_attention";
                     }));
  if (!full)
    in.refuse("layer_types", value,
              "attention sees all earlier tokens: only \"full_attention\" runs");
}

/// Whether use_sliding_window = true gives any layer a sliding window (configuration_qwen2.py,
/// configuration_smollm3.py).
bool slides(const ConfigReader& in, const ArchitectureRow& row) {
  if (!row.sliding_window)
    return true;                            // the architecture has no such key, so its meaning is
                                            // unknown
  if (in.has("layer_types")) return false;  // layer_types has its own rule
  const bool has_window = row.layers_without_rope
                              ? in.has("sliding_window")
                              : in.is_absent("sliding_window") || in.has("sliding_window");
  constexpr std::int64_t kMaxWindowLayers = 28;  // the default of Qwen2 and Qwen3
  return has_window &&
         (row.layers_without_rope ||
          in.integer("max_window_layers", kMaxWindowLayers) < in.integer("num_hidden_layers"));
}

void check_key(const ConfigReader& in, const ArchitectureRow& row, const std::string& key,
               const Json& value) {
  const auto rule =
      std::find_if(kRules.begin(), kRules.end(), [&](const KeyRule& r) { return key == r.key; });
  if (rule != kRules.end()) {
    const Json harmless = Json::parse(rule->harmless);
    if (std::find(harmless.begin(), harmless.end(), value) == harmless.end())
      in.refuse(key, value, rule->why);
  }
  if (key == "layer_types") check_layer_types(in, value);
  if (key == "use_sliding_window" && in.boolean(in.root(), "use_sliding_window", false) &&
      slides(in, row)) {
    in.refuse(key, value, "attention sees all earlier tokens");
  }
  if (key == "mlp_bias" && row.mlp_bias == Bias::never && in.boolean(in.root(), "mlp_bias", false))
    in.refuse(key, value, "the MLP of this architecture has no biases");
  const bool without_rope = key == "no_rope_layers" || key == "no_rope_layer_interval";
  if (without_rope && !row.layers_without_rope && !value.is_null())
    in.refuse(key, value, "every layer of this architecture has rotary embeddings");
}

}  // namespace

const ArchitectureRow& find_row(const ConfigReader& in) {
  const Json named = in.has("architectures") ? in.root().at("architectures") : Json::array();
  const std::string type = in.word(in.root(), "model_type", "");
  for (const ArchitectureRow& row : architectures()) {
    const bool by_name = named.is_array() && named.size() == 1 && named.at(0) == row.name;
    if (!by_name && !(named == Json::array() && type == row.model_type)) continue;
    if (!type.empty() && type != row.model_type)
      in.refuse("model_type", in.root().at("model_type"),
                "it is not that of " + std::string(row.name));
    return row;
  }
  const char* why = "what it computes is not known";
  if (named != Json::array()) in.refuse("architectures", named, why);
  in.refuse("model_type", in.has("model_type") ? in.root().at("model_type") : Json(), why);
}

void check_keys(const ConfigReader& in, const ArchitectureRow& row) {
  for (const auto& [key, value] : in.root().items()) check_key(in, row, key, value);
}

}  // namespace rollcall::model
