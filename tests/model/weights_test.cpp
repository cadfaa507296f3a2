// Layout, initial weights, config.json and model folders.
#include "base/error.hpp"
#include "model/model_folder.hpp"
#include "model/safetensors.hpp"
#include "model/small_models.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace rollcall::model::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

std::vector<std::string> names(const ModelConfig& config) {
  std::vector<std::string> all;
  for (const Slice& slice : weight_layout(config).slices) all.push_back(slice.name);
  return all;
}

TEST(Layout, NamesAreThoseOfTheFamilies) {
  const auto llama = names(small_config(Family::llama)), qwen2 = names(small_config(Family::qwen2)), qwen3 = names(small_config(Family::qwen3));
  EXPECT_EQ(llama.size(), 2U + 2 * 9);  // embedding and final norm; the head is tied
  EXPECT_EQ(qwen2.size(), 3U + 2 * 12);
  EXPECT_EQ(qwen3.size(), 3U + 2 * 11);
  EXPECT_THAT(qwen2, ::testing::Contains("model.layers.1.self_attn.k_proj.bias"));
  EXPECT_THAT(qwen3, ::testing::Contains("model.layers.0.self_attn.q_norm.weight"));
  EXPECT_EQ(qwen3.back(), "lm_head.weight");
}

TEST(Layout, SlicesAreAlignedDisjointAndDecayIsForProjections) {
  const WeightLayout layout = weight_layout(small_config(Family::qwen3));
  std::int64_t end = 0;
  for (const Slice& slice : layout.slices) {
    EXPECT_EQ(slice.offset % 16, 0);
    EXPECT_GE(slice.offset, end);
    EXPECT_EQ(slice.decay, slice.name.ends_with("proj.weight")) << slice.name;
    end = slice.offset + slice.count;
  }
  EXPECT_GE(layout.size, end);
}

TEST(InitialWeights, AreAddressedAndFollowTheirLaw) {
  ModelConfig config = small_config(Family::qwen2);
  config.initializer_range = 0.5;
  const std::vector<float> weights = initial_weights(config, 1);
  EXPECT_EQ(weights, initial_weights(config, 1));
  EXPECT_NE(weights, initial_weights(config, 2));
  double squares = 0.0, count = 0.0;
  for (const Slice& slice : weight_layout(config).slices) {
    for (std::int64_t i = slice.offset; i < slice.offset + slice.count; ++i) {
      if (slice.shape.size() == 2) squares += std::pow(weights[std::size_t(i)], 2), ++count;
      else EXPECT_EQ(weights[std::size_t(i)], slice.name.ends_with("bias") ? 0.0F : 1.0F);
    }
  }
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.02);
}

TEST(Digest, SeesEveryValueAndNoPadding) {
  const WeightLayout layout{{{"a", {3}, 0, 3, false}}, 16};
  std::vector<float> weights(16, 1.0F);
  const std::string digest = weights_sha256(layout, weights);
  weights[3] = 2.0F;
  EXPECT_EQ(weights_sha256(layout, weights), digest);
  weights[2] = 2.0F;
  EXPECT_NE(weights_sha256(layout, weights), digest);
}

TEST(ModelConfig, RoundTripsThroughConfigJson) {
  for (const Family family : kFamilies) {
    const ModelConfig config = small_config(family);
    const ModelConfig read = read_model_config(to_config_json(config), "config.json");
    EXPECT_EQ(to_config_json(read), to_config_json(config));
    EXPECT_EQ(names(read), names(config));
    EXPECT_EQ(read.eos_token_id, 1);
    EXPECT_EQ(read.bos_token_id, -1);
  }
}

TEST(ModelConfig, WhatCannotRunIsRefusedByName) {
  const Json base = Json::parse(to_config_json(small_config(Family::qwen3)));
  const auto refused = [&](const char* key, const Json& value, const char* fault) {
    Json changed = base;
    changed[key] = value;
    try {
      read_model_config(changed.dump(), "folder/config.json");
      ADD_FAILURE() << key << " was accepted";
    } catch (const InputError& e) {
      EXPECT_THAT(e.what(), HasSubstr("folder/config.json"));
      EXPECT_THAT(e.what(), HasSubstr(fault));
    }
  };
  refused("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}, "rope scaling");
  refused("rope_parameters", {{"rope_type", "llama3"}, {"rope_theta", 5e5}}, "rope scaling");
  refused("use_sliding_window", true, "sliding-window");
  refused("layer_types", {"full_attention", "sliding_attention"}, "sliding-window");
  refused("hidden_act", "gelu", "activation gelu");
  refused("model_type", "mamba", "unsupported architecture");
  refused("architectures", {"Qwen3MoeForCausalLM"}, "unsupported architecture");
  refused("quantization_config", {{"bits", 4}}, "quantized");
  refused("num_key_value_heads", 4, "6 heads over 4 key heads");
  refused("head_dim", 7, "odd head_dim");
  refused("hidden_size", nullptr, "no \"hidden_size\"");
  refused("hidden_size", -3, "\"hidden_size\": -3");
  refused("hidden_size", "wide", "\"hidden_size\"");
  refused("rms_norm_eps", 0, "positive");
  refused("eos_token_id", {1, 2}, "exactly one token");
  refused("eos_token_id", 23, "beyond vocab_size");
  EXPECT_THROW(read_model_config("{", "c"), InputError);
}

TEST(ModelConfig, OtherSpellingsAreUnderstood) {
  Json json = Json::parse(to_config_json(small_config(Family::qwen3)));
  json.erase("rope_theta");
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 123456.0}};
  json["rope_scaling"] = nullptr;
  json["eos_token_id"] = {4};
  json.erase("model_type");
  const ModelConfig config = read_model_config(json.dump(), "c");
  EXPECT_EQ(config.rope_theta, 123456.0);
  EXPECT_EQ(config.eos_token_id, 4);
  EXPECT_TRUE(config.qk_norm);
}

TEST(ModelFolder, RoundTripAndWrongShapes) {
  const rollcall::testing::TemporaryFolder folder;
  const ModelConfig config = small_config(Family::qwen2);
  const std::vector<float> weights = random_weights(config, 1);
  write_model_folder(folder.path(), config, weights);
  const LoadedModel loaded = read_model_folder(folder.path());
  EXPECT_EQ(loaded.weights, weights);
  ModelConfig other = config;
  other.vocab_size = 24;
  EXPECT_THROW(read_weights(other, folder / "model.safetensors"), InputError);
  EXPECT_THROW(read_weights(small_config(Family::qwen3), folder / "model.safetensors"), InputError);
  EXPECT_THROW(read_model_folder(folder / "nowhere"), InputError);
}

}  // namespace
}  // namespace rollcall::model::testing
