// Schedule, clipping and AdamW in hand-worked numbers.
#include "model/optimizer.hpp"

#include <gtest/gtest.h>

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
  const UpdateResult first = apply_adamw(layout, settings, 0.1, gradient, weights, state);
  EXPECT_DOUBLE_EQ(first.grad_norm, 6.0);  // sqrt(4 + 16 + 16)
  // Bias correction makes the first step the sign of the gradient; decay adds 0.1 * 0.5 * 1 to the matrix only.
  EXPECT_FLOAT_EQ(weights[0], 1.0F - 0.1F - 0.05F);
  EXPECT_FLOAT_EQ(weights[1], -0.1F);
  EXPECT_FLOAT_EQ(weights[16], 1.1F);
  gradient[0] = -2.0F;
  apply_adamw(layout, settings, 0.1, gradient, weights, state);
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
  const UpdateResult result = apply_adamw(layout, {.beta1 = 0.5, .max_grad_norm = 1.0}, 0.1, gradient, weights, state);
  EXPECT_DOUBLE_EQ(result.grad_norm, 5.0);
  EXPECT_FLOAT_EQ(state.m[0], 0.5F * 3.0F / 5.0F);
  EXPECT_FLOAT_EQ(state.m[16], 0.5F * 4.0F / 5.0F);
}

}  // namespace
}  // namespace rollcall::model
