// Folders with a LoRA adapter: what is merged, worked out by hand, and every fault by name.
#include "model/tensors/adapter_folder.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/numbers/random.hpp"
#include "base/text/json.hpp"
#include "model/small_models.hpp"
#include "model/tensors/base_files.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/train/reward_model.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

namespace rollcall::model::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::ordered_json;
using rollcall::testing::TemporaryFolder;

const ModelConfig kBase = small_config(Family::qwen2);
const std::vector<float> kWeights = random_weights(kBase, 1);

/// The base with an adapter on q, v and down.
ModelConfig adapted(std::int64_t rank, double alpha, bool rslora = false) {
  ModelConfig config = kBase;
  config.adapter = {rank, alpha, rslora, {"q_proj", "v_proj", "mlp.down_proj"}};
  return config;
}

std::vector<float> random_values(const WeightLayout& layout, std::uint64_t seed) {
  const RandomStream stream(seed, RandomPurpose::test, 3);
  std::vector<float> values(std::size_t(layout.size), 0.0F);
  for (const Slice& slice : layout.slices)
    for (std::int64_t i = 0; i < slice.count; ++i)
      values[std::size_t(slice.offset + i)] =
          float(0.25 * stream.normal(std::uint64_t(slice.offset + i)));
  return values;
}

/// A folder with a base and an adapter of rank 2, which tests change.
class AdapterFolders : public ::testing::Test {
 protected:
  AdapterFolders() : config_(adapted(2, 3.0)), values_(random_values(adapter_layout(config_), 2)) {
    write_model_folder(base_, kBase, kWeights);
    write_adapter_folder(adapter_, config_, values_, base_);
  }
  Json settings() const { return Json::parse(read_file(adapter_ / "adapter_config.json")); }
  void write(const Json& settings) const {
    write_file_atomic(adapter_ / "adapter_config.json", settings.dump());
  }
  void set(const char* key, const Json& value) const {
    Json changed = settings();
    changed[key] = value;
    write(changed);
  }
  /// Tensors of the adapter, to be changed and written.
  std::vector<TensorView> tensors() const {
    return weight_tensors(adapter_layout(config_), values_);
  }
  void write(const std::vector<TensorView>& tensors) const {
    write_file_atomic(adapter_ / "adapter_model.safetensors", to_safetensors(tensors, {}));
  }
  std::string fault() const {
    try {
      read_model_folder(adapter_);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_;
  const fs::path base_ = folder_ / "first_model", adapter_ = folder_ / "adapter";
  const ModelConfig config_;
  const std::vector<float> values_;
};

/// W + s B A of a tensor in double precision; W where the adapter does not change it.
std::vector<double> merged_by_hand(const ModelConfig& config, std::span<const float> values,
                                   const Slice& slice) {
  const auto weights =
      std::span(kWeights).subspan(std::size_t(slice.offset), std::size_t(slice.count));
  std::vector<double> merged(weights.begin(), weights.end());
  if (!slice.name.ends_with(".weight")) return merged;
  const std::string module = slice.name.substr(0, slice.name.rfind('.'));
  const WeightLayout layout = adapter_layout(config);
  for (std::size_t i = 0; i < layout.slices.size(); i += 2) {
    if (layout.slices[i].name != "base_model.model." + module + ".lora_A.weight") continue;
    const auto rank = std::size_t(config.adapter.rank), inputs = std::size_t(slice.shape[1]);
    const float *a = values.data() + layout.slices[i].offset,
                *b = values.data() + layout.slices[i + 1].offset;
    for (std::size_t at = 0; at < merged.size(); ++at)
      for (std::size_t r = 0; r < rank; ++r)
        merged[at] += config.adapter.scale() * double(b[at / inputs * rank + r]) *
                      double(a[r * inputs + at % inputs]);
  }
  return merged;
}

TEST_F(AdapterFolders, WhatIsWrittenIsReadAndMerged) {
  const LoadedModel model = read_model_folder(adapter_);
  EXPECT_EQ(model.config.adapter.rank, 0);
  EXPECT_EQ(to_config_json(model.config), to_config_json(kBase));
  int changed = 0;
  for (const Slice& slice : weight_layout(kBase).slices) {
    const auto expected = merged_by_hand(config_, values_, slice);
    bool differs = false;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t at = std::size_t(slice.offset) + i;
      EXPECT_NEAR(model.weights.data()[at], expected[i], 2e-6) << slice.name << " " << i;
      differs = differs || model.weights.data()[at] != kWeights[at];
    }
    const bool is_target = slice.name.ends_with("q_proj.weight") ||
                           slice.name.ends_with("v_proj.weight") ||
                           slice.name.ends_with("down_proj.weight");
    EXPECT_EQ(differs, is_target) << slice.name;
    changed += int(differs);
  }
  EXPECT_EQ(changed, 6);  // three matrices in two layers
}

TEST_F(AdapterFolders, TensorsHaveTheNamesAndShapesOfPeft) {
  const SafetensorsFile file = SafetensorsFile::map(adapter_ / "adapter_model.safetensors");
  EXPECT_EQ(file.tensors().size(), 12U);
  const std::string name = "base_model.model.model.layers.1.mlp.down_proj.lora_";
  EXPECT_EQ(file.tensor(name + "A.weight").shape, (std::vector<std::int64_t>{2, 36}));
  EXPECT_EQ(file.tensor(name + "B.weight").shape, (std::vector<std::int64_t>{24, 2}));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.metadata().at("base_sha256"), files_sha256(WeightFiles::open(base_)));
  const Json said = settings();
  EXPECT_EQ(said.at("peft_type"), "LORA");
  EXPECT_EQ(said.at("task_type"), "CAUSAL_LM");
  EXPECT_EQ(said.at("r"), 2);
  EXPECT_TRUE(said.at("lora_alpha").is_number_integer());
  EXPECT_EQ(said.at("target_modules"), Json({"q_proj", "v_proj", "mlp.down_proj"}));
  EXPECT_EQ(said.at("base_model_name_or_path"), base_.string());
}

/// Of q in layer 0 all weights are 100, A is 1, 2, 3, ... by column in rank 0 and 1 in rank 1, and B
/// is 1 and 10 in row 0 and 0 elsewhere.
TEST_F(AdapterFolders, MergedWeightsAreThoseWorkedOutByHand) {
  for (const auto& [alpha, rslora, scale] :
       {std::tuple(4.0, false, 2.0F), std::tuple(std::sqrt(2.0) * 0.5, true, 0.5F)}) {
    const ModelConfig config = adapted(2, alpha, rslora);
    const WeightLayout layout = adapter_layout(config), model = weight_layout(kBase);
    std::vector<float> values(std::size_t(layout.size), 0.0F), weights(kWeights);
    const std::int64_t inputs = kBase.hidden_size;
    for (std::int64_t i = 0; i < inputs; ++i) {
      values[std::size_t(i)] = float(i + 1);
      values[std::size_t(inputs + i)] = 1.0F;
    }
    ASSERT_EQ(layout.slices[1].name,
              "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
    values[std::size_t(layout.slices[1].offset)] = 1.0F;
    values[std::size_t(layout.slices[1].offset) + 1] = 10.0F;
    const Slice& q = *std::find_if(
        model.slices.begin(), model.slices.end(),
        [](const Slice& slice) { return slice.name == "model.layers.0.self_attn.q_proj.weight"; });
    for (std::int64_t i = 0; i < q.count; ++i) weights[std::size_t(q.offset + i)] = 100.0F;
    write_model_folder(base_, kBase, weights);
    write_adapter_folder(adapter_, config, values, base_);
    const LoadedModel merged = read_model_folder(adapter_);
    for (std::int64_t i = 0; i < q.count; ++i) {
      const float expected = i < inputs ? 100.0F + scale * float(i + 1 + 10) : 100.0F;
      EXPECT_FLOAT_EQ(merged.weights.data()[q.offset + i], expected) << i << " of scale " << scale;
    }
  }
}

TEST(AdapterValues, NothingIsAddedWhereBIsZero) {
  const ModelConfig config = adapted(2, 4.0);
  const WeightLayout layout = adapter_layout(config);
  std::vector<float> values = random_values(layout, 5);
  for (std::size_t i = 1; i < layout.slices.size(); i += 2)
    std::fill_n(values.begin() + layout.slices[i].offset, layout.slices[i].count, 0.0F);
  const AdapterValues adapter(config, AlignedFloats(std::span<const float>(values)));
  const AdaptedMatrix matrix = adapted_matrices(config).front();
  std::vector<float> weights(std::size_t(matrix.outputs * matrix.inputs), -0.0F);
  adapter.merge(matrix.weight, 0, weights);
  for (const float weight : weights)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(weight), 0x80000000U);  // -0 is still -0
}

TEST(AdapterValues, HowATensorIsCutChangesNoBit) {
  const ModelConfig config = adapted(3, 4.0, true);
  const AdapterValues adapter(
      config, AlignedFloats(std::span<const float>(random_values(adapter_layout(config), 6))));
  const AdaptedMatrix matrix = adapted_matrices(config).back();
  const auto count = std::size_t(matrix.outputs * matrix.inputs);
  std::vector<float> whole(count, 0.3F), parts(count, 0.3F);
  adapter.merge(matrix.weight, 0, whole);
  for (std::size_t first = 0; first < count; first += 7)
    adapter.merge(matrix.weight, std::int64_t(first),
                  std::span(parts).subspan(first, std::min<std::size_t>(7, count - first)));
  EXPECT_EQ(parts, whole);
  EXPECT_NE(whole.front(), 0.3F);
}

TEST_F(AdapterFolders, APolicyIsPackedFromTheMergedWeights) {
  const MicroBatch micro_batch = random_micro_batch(kBase, {9, 5}, 3);
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    const kernels::KernelSet& set = kernels::selected_kernels(numerics);
    for (const Dtype stored : {Dtype::f32, Dtype::bf16}) {
      write_model_folder(base_, kBase, kWeights, {stored, {}});
      write_adapter_folder(adapter_, config_, values_, base_);
      const LoadedModel merged = read_finite_model(adapter_);
      const PolicyModel expected(kBase, merged.weights, PolicyVersion{0}, &set),
          base = read_policy(base_, &set);
      const auto of_adapter = forward(read_policy(adapter_, &set), micro_batch, 1.0).logprob;
      EXPECT_EQ(of_adapter, forward(expected, micro_batch, 1.0).logprob) << numerics;
      EXPECT_NE(of_adapter, forward(base, micro_batch, 1.0).logprob) << numerics;
    }
  }
}

TEST_F(AdapterFolders, AnExportOfTheMergedModelIsTheAdapter) {
  const LoadedModel merged = read_model_folder(adapter_);
  write_model_folder(folder_ / "merged", merged.config, merged.weights);
  const MicroBatch micro_batch = random_micro_batch(kBase, {12}, 4);
  EXPECT_EQ(forward(read_policy(folder_ / "merged"), micro_batch, 1.0).logprob,
            forward(read_policy(adapter_), micro_batch, 1.0).logprob);
}

TEST_F(AdapterFolders, TheKeysThatPeftWritesAreRead) {
  // The keys of PEFT 0.18 with the values that they have where nothing is asked for, and those of a
  // trained adapter.
  const Json all = {{"alora_invocation_tokens", nullptr},
                    {"alpha_pattern", Json::object()},
                    {"arrow_config", nullptr},
                    {"auto_mapping", nullptr},
                    {"base_model_name_or_path", base_.string()},
                    {"bias", "none"},
                    {"corda_config", nullptr},
                    {"ensure_weight_tying", false},
                    {"eva_config", nullptr},
                    {"exclude_modules", nullptr},
                    {"fan_in_fan_out", false},
                    {"inference_mode", true},
                    {"init_lora_weights", true},
                    {"layer_replication", nullptr},
                    {"layers_pattern", nullptr},
                    {"layers_to_transform", nullptr},
                    {"loftq_config", Json::object()},
                    {"lora_alpha", 3},
                    {"lora_bias", false},
                    {"lora_dropout", 0.0},
                    {"megatron_config", nullptr},
                    {"megatron_core", "megatron.core"},
                    {"modules_to_save", nullptr},
                    {"peft_type", "LORA"},
                    {"peft_version", "0.18.0"},
                    {"qalora_group_size", 16},
                    {"r", 2},
                    {"rank_pattern", Json::object()},
                    {"revision", nullptr},
                    {"target_modules", {"down_proj", "v_proj", "q_proj"}},
                    {"target_parameters", nullptr},
                    {"task_type", "CAUSAL_LM"},
                    {"trainable_token_indices", nullptr},
                    {"use_dora", false},
                    {"use_qalora", false},
                    {"use_rslora", false}};
  const LoadedModel expected = read_model_folder(adapter_);
  write(all);
  EXPECT_TRUE(read_model_folder(adapter_).weights == expected.weights.span());
}

TEST_F(AdapterFolders, WhatIsMoreThanLoraOnMatricesIsRefusedByName) {
  const Json sound = settings();
  const struct {
    const char* key;
    Json value;
    const char* why;
  } rows[] = {
      {"peft_type", "LOHA", "the only adapters that are read are those of LORA"},
      {"task_type", "SEQ_CLS", "a reward model is read whole"},
      {"task_type", "TOKEN_CLS", "CAUSAL_LM"},
      {"lora_dropout", 0.05, "adapters have no dropout"},
      {"bias", "lora_only", "matrices of the blocks alone"},
      {"lora_bias", true, "matrices of the blocks alone"},
      {"modules_to_save", {"lm_head"}, "matrices of the blocks alone"},
      {"target_parameters", {"mlp.experts.gate_up_proj"}, "matrices of the blocks alone"},
      {"trainable_token_indices", {1, 2}, "matrices of the blocks alone"},
      {"use_dora", true, "DoRA"},
      {"use_qalora", true, "QA-LoRA"},
      {"alora_invocation_tokens", {7}, "a part of the tokens"},
      {"rank_pattern", {{"q_proj", 4}}, "one rank and one alpha"},
      {"alpha_pattern", {{"q_proj", 4}}, "one rank and one alpha"},
      {"layers_to_transform", {0}, "in all layers"},
      {"exclude_modules", {"q_proj"}, "in all layers"},
      {"layer_replication", {{0, 1}}, "keeps its layers"},
      {"fan_in_fan_out", true, "[outputs, inputs]"},
      {"megatron_config", {{"x", 1}}, "Megatron"},
      {"init_lora_weights", "pissa_niter_4", "the base were changed"},
      {"a_key_of_tomorrow", 1, "what it does to the model is not known"},
      {"target_modules", ".*_proj", "a pattern of names is not read"},
      {"target_modules", Json::array(), "a list with the names of modules"},
      {"target_modules", Json::array({"q_porj"}), "did you mean q_proj?"},
      {"target_modules", {"q_proj", "lm_head"}, "neither the embedding nor the head"},
      {"target_modules", Json::array({"embed_tokens"}), "neither the embedding nor the head"},
      {"r", 0, "a whole number from 1"},
      {"r", 37, "no side of its matrices is longer than 36"},
      {"lora_alpha", -1, "a positive number is needed"},
      {"base_model_name_or_path", nullptr, "names no model"},
  };
  for (const auto& [key, value, why] : rows) {
    write(sound);
    set(key, value);
    EXPECT_THAT(fault(), AllOf(HasSubstr("adapter_config.json"), HasSubstr(key), HasSubstr(why)));
  }
}

TEST_F(AdapterFolders, ABaseIsAFolderOfThisMachine) {
  set("base_model_name_or_path", "Qwen/Qwen2.5-0.5B");
  EXPECT_THAT(fault(), AllOf(HasSubstr("Qwen/Qwen2.5-0.5B"), HasSubstr("are not downloaded"),
                             HasSubstr("download it and write its path there")));
  set("base_model_name_or_path", (folder_ / "gone").string());
  EXPECT_THAT(fault(), AllOf(HasSubstr("there is no such folder"), Not(HasSubstr("download"))));
  set("base_model_name_or_path", adapter_.string());
  EXPECT_THAT(fault(), HasSubstr("which is an adapter too"));
  set("base_model_name_or_path", "first_model");  // beside the adapter
  EXPECT_EQ(fault(), "accepted");
  EXPECT_TRUE(fs::equivalent(base_folder(adapter_), base_));
  EXPECT_TRUE(fs::equivalent(base_folder(adapter_ / ""), base_));
}

TEST_F(AdapterFolders, AnotherBaseIsRefusedWhereItsDigestIsKnown) {
  std::vector<float> other(kWeights);
  other[3] += 1.0F;
  write_model_folder(base_, kBase, other);
  EXPECT_THAT(fault(), AllOf(HasSubstr("base_sha256"), HasSubstr("name the base")));
  write(tensors());  // as PEFT writes them: without a digest
  EXPECT_EQ(fault(), "accepted");
  ModelConfig wide = kBase;
  wide.intermediate_size = 40;
  write_model_folder(base_, wide, random_weights(wide, 1));
  EXPECT_THAT(fault(), AllOf(HasSubstr("down_proj.lora_A.weight"), HasSubstr("has shape [2,36]"),
                             HasSubstr("ask for [2,40]")));
}

TEST_F(AdapterFolders, TensorsAreThoseOfTheConfig) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto some = tensors();
  some.pop_back();
  write(some);
  EXPECT_THAT(fault(), AllOf(HasSubstr("has no tensor base_model"), HasSubstr("lora_B.weight")));
  some = tensors();
  some.push_back(
      {"base_model.model.lm_head.lora_A.weight", Dtype::f32, {1}, some[0].bytes.first(4)});
  write(some);
  EXPECT_THAT(fault(), HasSubstr("has tensor base_model.model.lm_head.lora_A.weight, which"));
  some = tensors();
  const std::vector<float> faulty(std::size_t(some[0].shape[0] * some[0].shape[1]), nan);
  some[0].bytes = std::as_bytes(std::span(faulty));
  write(some);
  EXPECT_THAT(fault(), HasSubstr("holds a value that is not finite"));
  fs::rename(adapter_ / "adapter_model.safetensors", adapter_ / "adapter_model.bin");
  EXPECT_THAT(fault(), HasSubstr("has no adapter_model.safetensors"));
  fs::copy(base_ / "model.safetensors", adapter_ / "model.safetensors");
  EXPECT_THAT(fault(), HasSubstr("whether the adapter or the whole model is meant"));
}

TEST_F(AdapterFolders, ASumThatOverflowsIsRefusedWhereTheModelRuns) {
  set("lora_alpha", 1e39);
  const auto refused = ::testing::ThrowsMessage<InputError>(HasSubstr("lora_alpha and r"));
  EXPECT_THAT([&] { read_finite_model(adapter_); }, refused);
  EXPECT_THAT([&] { read_policy(adapter_); }, refused);
}

TEST_F(AdapterFolders, WhatReadsFoldersReadsTheBase) {
  write_model_folder(base_, kBase, kWeights, {Dtype::bf16, {}});
  write_adapter_folder(adapter_, config_, values_, base_);
  write_file_atomic(base_ / "generation_config.json", R"({"eos_token_id": [1, 7]})");
  EXPECT_TRUE(is_adapter_folder(adapter_));
  EXPECT_FALSE(is_adapter_folder(base_));
  EXPECT_EQ(read_folder_config(adapter_).eos_token_ids, (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(stored_dtype(adapter_), "bfloat16");
  require_model_weights(adapter_);
  const std::string before = folder_sha256(adapter_);
  EXPECT_NE(before, folder_sha256(base_));
  set("lora_alpha", 4);
  EXPECT_NE(folder_sha256(adapter_), before);
  fs::remove(base_ / "model.safetensors");
  EXPECT_THAT(
      [&] { require_model_weights(adapter_); },
      ::testing::ThrowsMessage<InputError>(HasSubstr("first_model has neither model.safetensors")));
}

TEST_F(AdapterFolders, WhatNeedsAWholeModelSaysSo) {
  EXPECT_THAT([&] { WeightFiles::open(adapter_); },
              ::testing::ThrowsMessage<InputError>(
                  AllOf(HasSubstr("it is an adapter"), HasSubstr("rollcall export"))));
  EXPECT_FALSE(is_sequence_classifier(adapter_));
  EXPECT_THAT([&] { read_reward_config(adapter_); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("a reward model is read whole")));
}

TEST_F(AdapterFolders, FilesAreSharedWhileSomebodyHasThem) {
  auto files = shared_files(base_);
  EXPECT_EQ(shared_files(folder_ / "adapter" / ".." / "first_model"), files);
  EXPECT_EQ(open_adapter(adapter_).base, files);
  std::vector<float> other(kWeights);
  other.front() = 5.0F;
  write_model_folder(base_, kBase, other);
  files.reset();
  const auto& layout = weight_layout(kBase);
  const auto again = shared_files(base_);
  EXPECT_EQ(again->tensors().at(layout.slices[0].name)->floats(layout.slices[0].name).front(),
            5.0F);
}

}  // namespace
}  // namespace rollcall::model::testing
