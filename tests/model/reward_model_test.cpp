// Reward models score as transformers says (fixtures/reward_models.json, by reward_model_parity.py
// --write), whatever is scored beside; other folders are refused.
#include "model/reward_models.hpp"

#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcall::model::testing {
namespace {

constexpr double kTolerance = 1e-4;  // fp32, other orders of summation

class RewardModels : public ::testing::Test {
 protected:
  rollcall::testing::TemporaryFolder folder_;
  std::filesystem::path at(const std::string& name) const { return folder_ / name; }
};

TEST_F(RewardModels, ScoreAsTransformersSays) {
  const auto fixture = nlohmann::json::parse(read_file(ROLLCALL_REWARD_FIXTURE)).at("models");
  ASSERT_EQ(fixture.size(), reward_reference_models().size());
  for (const auto& [name, config] : reward_reference_models()) {
    SCOPED_TRACE(name);
    write_reward_model(at(name), config);
    const auto sequences =
        fixture.at(name).at("sequences").get<std::vector<std::vector<std::int32_t>>>();
    ASSERT_EQ(sequences, reward_sequences(config));
    const auto ours = scores_of(at(name), sequences, 1024);
    const auto theirs = fixture.at(name).at("scores").get<std::vector<double>>();
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_NEAR(ours[i], theirs[i], kTolerance) << "sequence " << i;
  }
}

TEST_F(RewardModels, ScoresDependOnTheirSequenceAlone) {
  const ModelConfig config = reward_reference_models().front().config;
  write_reward_model(at("one"), config);
  const auto sequences = reward_sequences(config);
  for (const char* numerics : {kernels::kFp32FixedOrder, kernels::kBf16Sliced8}) {
    for (const auto* kernels : kernel_sets(numerics)) {
      const auto together = scores_of(at("one"), sequences, 1024, kernels);
      EXPECT_EQ(together, scores_of(at("one"), sequences, 1, kernels)) << "leaves of one sequence";
      std::vector<double> alone;
      for (const auto& tokens : sequences)
        alone.push_back(scores_of(at("one"), {tokens}, 1024, kernels).front());
      EXPECT_EQ(together, alone);
    }
  }
}

TEST_F(RewardModels, OthersAreRefusedByName) {
  const auto refusal = [&](const std::string& name) {
    try {
      read_reward_model(at(name));
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const ModelConfig config = small_config(Family::qwen2);
  write_reward_model(at("two"), config, 2);
  EXPECT_THAT(refusal("two"), ::testing::HasSubstr("tensor score.weight of " +
                                                   (at("two") / "model.safetensors").string() +
                                                   " has shape [2,24]"));
  write_model_folder(at("language"), config, random_weights(config, 1));
  EXPECT_THAT(
      refusal("language"),
      ::testing::HasSubstr(
          "\"architectures\": [\"Qwen2ForCausalLM\"] (a reward model is a sequence classifier with one label); "
          "name a folder with one of LlamaForSequenceClassification, Qwen2ForSequenceClassification"));
  write_reward_model(at("bert"), config, 1, "BertForSequenceClassification");
  EXPECT_THAT(refusal("bert"), ::testing::HasSubstr("BertForSequenceClassification"));
  write_reward_model(at("headless"), config);
  write_file_atomic(at("headless") / "model.safetensors",
                    to_model_safetensors(weight_layout(config), random_weights(config, 1)));
  EXPECT_THAT(refusal("headless"), ::testing::HasSubstr("has no tensor score.weight"));
  EXPECT_TRUE(is_sequence_classifier(at("bert")));
  EXPECT_FALSE(is_sequence_classifier(at("language")));
}

/// The digest is the tensors', not that of the file they are in.
TEST_F(RewardModels, TensorsHaveOneDigestHoweverTheyAreStored) {
  const ModelConfig config = small_config(Family::llama);
  const auto weights = random_weights(config, 2);
  write_model_folder(at("a"), config, weights);
  write_model_folder(at("b"), config, weights,
                     {.dtype = Dtype::f32, .metadata = {{"note", "another header"}}});
  auto other = weights;
  other.front() += 1.0F;
  write_model_folder(at("c"), config, other);
  const auto digest = [&](const char* name) { return files_sha256(WeightFiles::open(at(name))); };
  EXPECT_EQ(digest("a"), digest("b"));
  EXPECT_NE(digest("a"), digest("c"));
}

}  // namespace
}  // namespace rollcall::model::testing
