// Schedule, clipping and AdamW in hand-worked numbers.
#include "model/optimizer.hpp"

#include "kernels/parameter_kernels.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

namespace rollcall::model {
namespace {

/// One decayed matrix of two and one undecayed vector of one, sixteen floats apart.
WeightLayout two_tensors() { return {{{"w", {1, 2}, 0, 2, true}, {"b", {1}, 16, 1, false}}, 32}; }

TEST(LearningRate, WarmsUpLinearlyThenFallsByCosine) {
  const OptimizerSection settings{.lr = 2.0, .warmup_steps = 4, .min_lr_ratio = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate(settings, 1, 12), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 4, 12), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 8, 12), 2.0 * (0.1 + 0.9 * 0.5));  // half way: cos(pi/2) = 0
  EXPECT_DOUBLE_EQ(learning_rate(settings, 12, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(settings, 20, 12), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate({.lr = 3.0, .warmup_steps = 0, .min_lr_ratio = 1.0}, 1, 1), 3.0);
}

TEST(AdamW, FirstStepsByHand) {
  const WeightLayout layout = two_tensors();
  const OptimizerSection settings{.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 0.0, .weight_decay = 0.5, .max_grad_norm = 0.0};
  std::vector<float> weights(32, 0.0F), gradient(32, 0.0F);
  weights[0] = 1.0F;
  weights[16] = 1.0F;
  gradient[0] = 2.0F;
  gradient[16] = -4.0F;
  gradient[1] = 4.0F;
  OptimizerState state;
  apply_adamw(layout, settings, 0.1, {gradient, 0, 6.0}, weights, state);
  // Bias correction makes the first step the sign of the gradient; decay adds 0.1 * 0.5 * 1 to the matrix only.
  EXPECT_FLOAT_EQ(weights[0], 1.0F - 0.1F - 0.05F);
  EXPECT_FLOAT_EQ(weights[1], -0.1F);
  EXPECT_FLOAT_EQ(weights[16], 1.1F);
  gradient[0] = -2.0F;
  apply_adamw(layout, settings, 0.1, {gradient, 0, 6.0}, weights, state);
  // m = (0.9 * 0.2 - 0.2) / (1 - 0.81) = -0.105263, v = 4 exactly: the step is 0.1 * 0.0526316 upwards, decay 0.05 * 0.85 downwards.
  EXPECT_NEAR(weights[0], 0.85 + 0.1 * 0.05263158 - 0.05 * 0.85, 1e-6);
  EXPECT_EQ(state.step, 2);
}

TEST(AdamW, ClipsByTheNormOfAllTensors) {
  const WeightLayout layout = two_tensors();
  std::vector<float> weights(32, 0.0F), gradient(32, 0.0F);
  gradient[0] = 3.0F;
  gradient[16] = 4.0F;
  OptimizerState state;
  apply_adamw(layout, {.beta1 = 0.5, .max_grad_norm = 1.0}, 0.1, {gradient, 0, 5.0}, weights, state);
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
  EXPECT_EQ(optimizer_shares(3 * 4096, 3), (std::vector<std::int64_t>{0, 3 * 4096, 3 * 4096, 3 * 4096}));
  EXPECT_EQ(optimizer_shares(100 * 4096 + 1, 2), (std::vector<std::int64_t>{0, 50 * 4096, 100 * 4096 + 1}));
}

}  // namespace
}  // namespace rollcall::model
