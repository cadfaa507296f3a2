// config.json: round trips of every reference model, defaults and spellings of transformers, and
// what is refused by key and value.
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "model/reference_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::model::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

ModelConfig read(const Json& json, const Json& generation = nullptr) {
  return read_model_config({json.dump(), "folder/config.json"},
                           generation.is_null()
                               ? NamedText{}
                               : NamedText{generation.dump(), "folder/generation_config.json"});
}

std::string refusal(const Json& json, const Json& generation = nullptr) {
  try {
    read(json, generation);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

/// The least that a file must say.
Json least(const char* architecture, const char* type) {
  return {{"architectures", {architecture}},
          {"model_type", type},
          {"vocab_size", 200000},
          {"hidden_size", 128},
          {"intermediate_size", 256},
          {"num_hidden_layers", 9},
          {"num_attention_heads", 64}};
}

std::vector<std::string> names(const ModelConfig& config) {
  std::vector<std::string> all;
  for (const Slice& slice : weight_layout(config).slices) all.push_back(slice.name);
  return all;
}

TEST(ModelConfig, RoundTripsThroughConfigJson) {
  for (const auto& [name, config] : reference_models()) {
    SCOPED_TRACE(name);
    const ModelConfig again = read(Json::parse(to_config_json(config)));
    EXPECT_EQ(to_config_json(again), to_config_json(config));
    EXPECT_EQ(names(again), names(config));
    EXPECT_EQ(again.rope_scaling, config.rope_scaling);
    EXPECT_EQ(again.layers_without_rope, config.layers_without_rope);
    EXPECT_EQ(again.eos_token_ids, config.eos_token_ids);
    EXPECT_EQ(again.bos_token_id, -1);
  }
}

// configuration_{llama,qwen2,qwen3,smollm3}.py, transformers 5.23
TEST(ModelConfig, LeftOutKeysHaveTheDefaultsOfTransformers) {
  const ModelConfig llama = read(least("LlamaForCausalLM", "llama"));
  EXPECT_EQ(llama.num_key_value_heads, 64);
  EXPECT_EQ(llama.head_dim, 2);
  EXPECT_EQ(llama.max_position_embeddings, 2048);
  EXPECT_EQ(llama.rope_theta, 1e4);
  EXPECT_EQ(llama.eos_token_ids, std::vector<std::int64_t>{2});
  EXPECT_EQ(llama.bos_token_id, 1);
  EXPECT_FALSE(llama.attention_bias || llama.output_bias || llama.mlp_bias ||
               llama.tie_word_embeddings || llama.qk_norm);
  const ModelConfig qwen2 = read(least("Qwen2ForCausalLM", "qwen2"));
  EXPECT_EQ(qwen2.num_key_value_heads, 32);
  EXPECT_TRUE(qwen2.attention_bias && !qwen2.output_bias);
  EXPECT_TRUE(qwen2.eos_token_ids.empty());
  const ModelConfig qwen3 = read(least("Qwen3ForCausalLM", "qwen3"));
  EXPECT_EQ(qwen3.head_dim, 128);
  EXPECT_EQ(qwen3.max_position_embeddings, 32768);
  EXPECT_TRUE(qwen3.qk_norm && !qwen3.attention_bias);
  const ModelConfig smollm3 = read(least("SmolLM3ForCausalLM", "smollm3"));
  EXPECT_EQ(smollm3.num_key_value_heads, 4);
  EXPECT_EQ(smollm3.rope_theta, 2e6);
  EXPECT_TRUE(smollm3.tie_word_embeddings);
  EXPECT_EQ(smollm3.layers_without_rope, (std::vector<std::int64_t>{3, 7}));
  EXPECT_EQ(smollm3.eos_token_ids, std::vector<std::int64_t>{128001});
}

TEST(ModelConfig, SpellingsOfBothVersionsAreUnderstood) {
  Json json = least("LlamaForCausalLM", "llama");
  json["rope_theta"] = 5e5;  // Llama 3.2 1B as transformers 4 writes it
  json["rope_scaling"] = {{"factor", 32.0},
                          {"high_freq_factor", 4.0},
                          {"low_freq_factor", 1.0},
                          {"original_max_position_embeddings", 8192},
                          {"rope_type", "llama3"}};
  json["pretraining_tp"] = 1, json["use_cache"] = true, json["attention_dropout"] = 0.1,
  json["transformers_version"] = "4.45.0";
  const ModelConfig four = read(json);
  EXPECT_EQ(four.rope_theta, 5e5);
  EXPECT_EQ(four.rope_scaling.type, RopeScaling::Type::llama3);
  EXPECT_EQ(four.rope_scaling.original_max_position_embeddings, 8192);
  Json parameters = json["rope_scaling"];
  parameters["rope_theta"] = 5e5;
  json.erase("rope_theta"), json["rope_scaling"] = nullptr, json["rope_parameters"] = parameters;
  EXPECT_EQ(to_config_json(read(json)), to_config_json(four));
  // as in transformers, it replaces the other
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  EXPECT_EQ(read(json).rope_scaling.type, RopeScaling::Type::linear);
  EXPECT_EQ(read(json).rope_theta, 1e4);
  Json yarn = least("Qwen2ForCausalLM", "qwen2");
  // zeros stand for the defaults
  yarn["rope_scaling"] = {{"type", "yarn"}, {"factor", 4.0}, {"beta_fast", 0}, {"mscale", 0}};
  EXPECT_EQ(read(yarn).rope_scaling.original_max_position_embeddings, 32768);
  EXPECT_EQ(read(yarn).rope_scaling.beta_fast, 32.0);
  EXPECT_FALSE(read(yarn).rope_scaling.mscale.has_value());
  yarn.erase("architectures");
  EXPECT_EQ(read(yarn).architecture, Architecture::qwen2);
}

TEST(ModelConfig, EndTokensOfBothFilesJoin) {
  Json json = least("LlamaForCausalLM", "llama");
  EXPECT_EQ(read(json, {{"eos_token_id", {7, 9}}}).eos_token_ids, (std::vector<std::int64_t>{7, 9}))
      << "no default where one is said";
  json["eos_token_id"] = {128, 9};
  EXPECT_EQ(read(json, {{"eos_token_id", {7, 9}}, {"temperature", 0.6}}).eos_token_ids,
            (std::vector<std::int64_t>{128, 9, 7}));
  json["eos_token_id"] = nullptr;
  EXPECT_TRUE(read(json).eos_token_ids.empty());
  EXPECT_THAT(refusal(json, {{"eos_token_id", 200000}}),
              AllOf(HasSubstr("generation_config.json"), HasSubstr("200000")));
}

TEST(ModelConfig, WindowsThatNoLayerUsesAreNone) {
  Json json = least("Qwen2ForCausalLM", "qwen2");
  json["sliding_window"] = 4096, json["use_sliding_window"] = false, json["max_window_layers"] = 2;
  EXPECT_EQ(refusal(json), "accepted");
  json["use_sliding_window"] = true;
  EXPECT_THAT(refusal(json), HasSubstr("\"use_sliding_window\": true"));
  json["max_window_layers"] = 9;
  EXPECT_EQ(refusal(json), "accepted");
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_THAT(refusal(json),
              HasSubstr("\"layer_types\": [\"full_attention\",\"sliding_attention\"]"));
}

TEST(ModelConfig, WhatCannotRunIsRefusedByKeyAndValue) {
  const Json base = Json::parse(to_config_json(small_config(Family::qwen3)));
  const auto refused = [&](const char* key, const Json& value, const char* fault) {
    Json changed = base;
    changed[key] = value;
    EXPECT_THAT(refusal(changed), AllOf(HasSubstr("folder/config.json"), HasSubstr(fault))) << key;
  };
  refused("architectures", {"MistralForCausalLM"},
          "\"architectures\": [\"MistralForCausalLM\"], which cannot be run");
  refused("architectures", {"MistralForCausalLM"},
          "LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, SmolLM3ForCausalLM");
  refused("architectures", {"LlamaForCausalLM"}, "\"model_type\": \"qwen3\"");
  refused("model_type", "mamba", "\"model_type\": \"mamba\"");
  refused("rope_scaling", {{"rope_type", "dynamic"}, {"factor", 4.0}},
          R"("rope_scaling": {"rope_type":"dynamic","factor":4.0})");
  refused("rope_scaling", {{"type", "longrope"}, {"factor", 4.0}}, "longrope");
  refused("rope_scaling", {{"rope_type", "yarn"}, {"factor", 2.0}, {"mrope_section", {1, 2}}},
          "\"rope_scaling.mrope_section\": [1,2]");
  refused("rope_scaling", {{"rope_type", "llama3"}, {"factor", 2.0}}, "no \"low_freq_factor\"");
  refused("rope_scaling", {{"rope_type", "linear"}}, "no \"factor\"");
  refused("rope_scaling", {{"rope_type", "default"}, {"factor", 4.0}}, "a factor needs a type");
  refused("rope_scaling", 4, "a table is needed");
  refused("partial_rotary_factor", 0.5, "\"partial_rotary_factor\": 0.5");
  refused("hidden_act", "gelu", "\"hidden_act\": \"gelu\"");
  refused("quantization_config", {{"bits", 4}}, "\"quantization_config\": {\"bits\":4}");
  refused("mlp_bias", true, "\"mlp_bias\": true");
  refused("no_rope_layers", {1, 0}, "\"no_rope_layers\": [1,0]");
  refused("num_local_experts", 8, "\"num_local_experts\": 8");
  refused("num_key_value_heads", 4, "6 heads over 4 key heads");
  refused("head_dim", 7, "odd head_dim");
  refused("hidden_size", nullptr, "no \"hidden_size\"");
  refused("hidden_size", -3, "\"hidden_size\": -3");
  refused("hidden_size", "wide", "\"hidden_size\": \"wide\"");
  refused("num_hidden_layers", 1000000, "1e15 weights");
  refused("rms_norm_eps", 0, "positive");
  refused("eos_token_id", {1, 23}, "\"eos_token_id\": 23");
  refused("bos_token_id", 23, "\"bos_token_id\": 23");
  Json smollm3 = Json::parse(to_config_json(small_smollm3()));
  smollm3["no_rope_layers"] = {1, 0};
  EXPECT_THAT(refusal(smollm3), HasSubstr("no_rope_layers"));
}

TEST(ModelConfig, TheFirstKeyOfTheFileIsNamed) {
  Json json = least("LlamaForCausalLM", "llama");
  json["alibi"] = true, json["hidden_act"] = "gelu";
  EXPECT_THAT(refusal(json), HasSubstr("\"alibi\""));
}

TEST(ModelConfig, HostileTextIsRefused) {
  const auto fault = [](const std::string& text) {
    try {
      read_model_config({text, "c"});
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(fault("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(
      fault("{\"model_type\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}"),
      HasSubstr("too deep"));
  EXPECT_THAT(fault(R"({"model_type":"llama","model_type":"qwen2"})"), HasSubstr("stands twice"));
  EXPECT_THAT(fault("{\"model_type\":\"\xFF\"}"), HasSubstr("not a JSON object"));
  EXPECT_THAT(fault("{\"a\":\"" + std::string(1 << 18, 'x') + "\"}"), HasSubstr("bytes"));
}

}  // namespace
}  // namespace rollcall::model::testing
