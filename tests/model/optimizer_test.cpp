// Schedule, clipping and AdamW in hand-worked numbers.
#include "model/train/optimizer.hpp"

#include "kernels/parameter_kernels.hpp"
#include "model/engine/packed_policy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace rollcall::model {
namespace {

/// One decayed matrix of two and one undecayed vector of one, sixteen floats apart.
WeightLayout two_tensors() {
  return {{{{0}, "w", {1, 2}, 0, 2, true}, {{1}, "b", {1}, 16, 1, false}}, 32};
}

TEST(LearningRate, WarmsUpLinearlyThenFallsByCosine) {
  const OptimizerSection settings{.lr = 2.0, .warmup_steps = 4, .min_lr_ratio = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(settings, 1, 12), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 4, 12), 2.0);
  // half way: cos(pi/2) = 0
  EXPECT_DOUBLE_EQ(learning_rate(settings, 8, 12), 2.0 * (0.1 + 0.9 * 0.5));
  EXPECT_DOUBLE_EQ(learning_rate(settings, 12, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 20, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate({.lr = 3.0, .warmup_steps = 0, .min_lr_ratio = 1.0}, 1, 1), 3.0);
}

TEST(LearningRate, FallsLinearlyOrStaysWhereItIs) {
  const OptimizerSection linear{
      .lr = 2.0, .warmup_steps = 4, .lr_schedule = "linear", .min_lr_ratio = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(linear, 2, 12), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 4, 12), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 6, 12), 2.0 * (0.1 + 0.9 * 0.75));
  EXPECT_DOUBLE_EQ(learning_rate(linear, 12, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(linear, 20, 12), 0.2);
  const OptimizerSection constant{
      .lr = 2.0, .warmup_steps = 4, .lr_schedule = "constant", .min_lr_ratio = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(constant, 2, 12), 1.0) << "it warms up, too";
  EXPECT_DOUBLE_EQ(learning_rate(constant, 5, 12), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 12, 12), 2.0);
}

TEST(AdamW, FirstStepsByHand) {
  const WeightLayout layout = two_tensors();
  const OptimizerSection settings{.lr = 0.1,
                                  .beta1 = 0.9,
                                  .beta2 = 0.99,
                                  .eps = 0.0,
                                  .weight_decay = 0.5,
                                  .max_grad_norm = 0.0};
  std::vector<float> weights(32, 0.0F), gradient(32, 0.0F);
  weights[0] = 1.0F;
  weights[16] = 1.0F;
  gradient[0] = 2.0F;
  gradient[16] = -4.0F;
  gradient[1] = 4.0F;
  OptimizerState state;
  apply_adamw(layout, settings, 0.1, {gradient, 0, 6.0}, weights, state);
  // Bias correction makes the first step the sign of the gradient; decay adds 0.1 * 0.5 * 1 to the
  // matrix only.
  EXPECT_FLOAT_EQ(weights[0], 1.0F - 0.1F - 0.05F);
  EXPECT_FLOAT_EQ(weights[1], -0.1F);
  EXPECT_FLOAT_EQ(weights[16], 1.1F);
  gradient[0] = -2.0F;
  apply_adamw(layout, settings, 0.1, {gradient, 0, 6.0}, weights, state);
  // m = (0.9 * 0.2 - 0.2) / (1 - 0.81) = -0.105263, v = 4 exactly: the step is 0.1 * 0.0526316
  // upwards, decay 0.05 * 0.85 downwards.
  EXPECT_NEAR(weights[0], 0.85 + 0.1 * 0.05263158 - 0.05 * 0.85, 1e-6);
  EXPECT_EQ(state.step, 2);
}

TEST(AdamW, ClipsByTheNormOfAllTensors) {
  const WeightLayout layout = two_tensors();
  std::vector<float> weights(32, 0.0F), gradient(32, 0.0F);
  gradient[0] = 3.0F;
  gradient[16] = 4.0F;
  OptimizerState state;
  apply_adamw(layout, {.beta1 = 0.5, .max_grad_norm = 1.0}, 0.1, {gradient, 0, 5.0}, weights,
              state);
  EXPECT_FLOAT_EQ(state.m[0], 0.5F * 3.0F / 5.0F);
  EXPECT_FLOAT_EQ(state.m[16], 0.5F * 4.0F / 5.0F);
}

TEST(OptimizerShares, AreWholeBlocksInOrderAndWorthAFile) {
  const bool ok = rc::check([] {
    const auto size = *rc::gen::inRange<std::int64_t>(1, 4'000'000);
    const int ranks = *rc::gen::inRange(1, 40);
    const auto begins = optimizer_shares(size, ranks);
    RC_ASSERT(begins.size() == std::size_t(ranks) + 1);
    RC_ASSERT(begins.front() == 0);
    RC_ASSERT(begins.back() == size);
    std::int64_t least = size, most = 0;
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      const std::int64_t length = begins[r + 1] - begins[r];
      RC_ASSERT(length >= 0);
      RC_ASSERT(length == 0 || begins[r] % std::int64_t(kernels::kNormBlock) == 0);
      if (length > 0) least = std::min(least, length), most = std::max(most, length);
    }
    RC_ASSERT(most - least < 2 * std::int64_t(kernels::kNormBlock));
    RC_ASSERT(most == size || 2 * least * std::int64_t(sizeof(float)) >= 1 << 20);
  });
  EXPECT_TRUE(ok);
  EXPECT_EQ(optimizer_shares(3 * 4096, 3),
            (std::vector<std::int64_t>{0, 3 * 4096, 3 * 4096, 3 * 4096}));
  EXPECT_EQ(optimizer_shares(100 * 4096 + 1, 2),
            (std::vector<std::int64_t>{0, 50 * 4096, 100 * 4096 + 1}));
}

/// A policy whose parts AdamW packs as it goes is the policy that is packed afterwards, for any
/// share; and parts of other ranks are left to the end.
TEST(AdamW, PacksItsShareWhileItWritesIt) {
  const ModelConfig config{.vocab_size = 61,
                           .hidden_size = 32,
                           .intermediate_size = 80,
                           .num_hidden_layers = 2,
                           .num_attention_heads = 4,
                           .num_key_value_heads = 2,
                           .head_dim = 8};
  // the head of its own is longer
  std::vector<float> gradient(std::size_t(weight_layout(config).size) + 61 * 32);
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = float(i % 17) - 8.0F;
  for (const bool tied : {true, false}) {
    ModelConfig own = config;
    own.tie_word_embeddings = tied;
    const WeightLayout mine = weight_layout(own);
    for (const std::int64_t first : {std::int64_t{0}, mine.size / 3}) {
      auto weights = std::make_shared<AlignedFloats>(initial_weights(own, 7));
      PolicyModel policy(own, std::shared_ptr<const AlignedFloats>(weights), PolicyVersion{1});
      const auto cuts = policy.cuts();
      ASSERT_EQ(cuts.front(), 0);
      ASSERT_EQ(cuts.back(), mine.size);
      OptimizerState state;
      const GradientShare share{std::span(gradient).subspan(0, std::size_t(mine.size - first)),
                                first, 1.0};
      std::size_t packed = 0;
      apply_adamw(mine, {.max_grad_norm = 0.0}, 0.1, share, weights->span(), state, {},
                  {cuts, [&](std::size_t part) { policy.renew_part(part), ++packed; }});
      EXPECT_GT(packed, 0U);
      EXPECT_EQ(packed == cuts.size() - 1, first == 0);
      policy.renew(PolicyVersion{2});
      const PolicyModel afresh(own, std::span<const float>(weights->span()), PolicyVersion{2});
      const auto& a = policy.packed().panels;
      const auto& b = afresh.packed().panels;
      ASSERT_EQ(a.size(), b.size());
      EXPECT_TRUE(std::memcmp(a.data(), b.data(), a.size()) == 0) << tied << " " << first;
    }
  }
}

}  // namespace
}  // namespace rollcall::model
