// Layout and initial weights.
#include "model/small_models.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rollcall::model::testing {
namespace {

std::vector<std::string> names(const ModelConfig& config) {
  std::vector<std::string> all;
  for (const Slice& slice : weight_layout(config).slices) all.push_back(slice.name);
  return all;
}

TEST(Layout, NamesAreThoseOfTheFamilies) {
  const auto llama = names(small_config(Family::llama)), qwen2 = names(small_config(Family::qwen2)),
             qwen3 = names(small_config(Family::qwen3));
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

TEST(Layout, FindsATensorByItsId) {
  WeightLayout layout = weight_layout(small_config(Family::qwen2));
  for (std::size_t s = 0; s < layout.slices.size(); ++s) {
    EXPECT_EQ(layout.slices[s].tensor, TensorId{s});
    EXPECT_EQ(layout.slice_of(TensorId{s}), std::int64_t(s));
  }
  EXPECT_EQ(layout.slice_of(TensorId{layout.slices.size()}), -1);
  // A layout of some of the tensors keeps their ids.
  layout.slices.erase(layout.slices.begin(), layout.slices.begin() + 3);
  EXPECT_EQ(layout.slice_of(TensorId{2}), -1);
  EXPECT_EQ(layout.slice_of(TensorId{3}), 0);
  EXPECT_EQ(WeightLayout{}.slice_of(TensorId{0}), -1);
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
  const WeightLayout layout{{{{0}, "a", {3}, 0, 3, false}}, 16};
  std::vector<float> weights(16, 1.0F);
  const std::string digest = weights_sha256(layout, weights);
  weights[3] = 2.0F;
  EXPECT_EQ(weights_sha256(layout, weights), digest);
  weights[2] = 2.0F;
  EXPECT_NE(weights_sha256(layout, weights), digest);
}

}  // namespace
}  // namespace rollcall::model::testing
