// Rotary frequencies of each scaling type, by numbers worked out from the formulas.
#include "model/config/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace rollcall::model {
namespace {

TEST(Rope, PlainAndLinear) {
  const Rope plain{.theta = 100.0, .head_dim = 4, .positions = 8};
  EXPECT_EQ(rope_frequencies(plain), (std::vector<double>{1.0, 0.1}));  // 100^0, 100^(-1/2)
  Rope linear = plain;
  linear.scaling = {.type = RopeScaling::Type::linear, .factor = 4.0};
  EXPECT_EQ(rope_frequencies(linear), (std::vector<double>{0.25, 0.1 / 4.0}));
}

TEST(Rope, Llama3KeepsShortWavesStretchesLongOnesAndBlends) {
  // frequencies 1, 0.1, 0.01, 0.001: wavelengths 6.28, 62.8, 628, 6283
  Rope rope{.theta = 1e4, .head_dim = 8, .positions = 8};
  rope.scaling = {.type = RopeScaling::Type::llama3,
                  .factor = 8.0,
                  .low_freq_factor = 1.0,
                  .high_freq_factor = 4.0,
                  .original_max_position_embeddings = 100};
  const auto f = rope_frequencies(rope);  // kept below 25, stretched above 100
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  const double smooth = (100.0 / (20.0 * std::numbers::pi) - 1.0) / 3.0;  // 0.1972
  EXPECT_NEAR(f[1], 0.1 * (smooth + (1.0 - smooth) / 8.0), 1e-12);
  EXPECT_DOUBLE_EQ(f[2], 0.01 / 8.0);
  EXPECT_DOUBLE_EQ(f[3], 0.001 / 8.0);
}

TEST(Rope, YarnRampsBetweenItsTwoBounds) {
  // Pairs i = 0..3 of head_dim 8, theta 1e4. dimension(r) = 8 ln(1000 / (2 pi r)) / (2 ln 1e4):
  // 1.0977 for 12.7 rotations, 2.0004 for 1.59.
  Rope rope{.theta = 1e4, .head_dim = 8, .positions = 8};
  rope.scaling = {.type = RopeScaling::Type::yarn,
                  .factor = 4.0,
                  .original_max_position_embeddings = 1000,
                  .beta_fast = 12.7,
                  .beta_slow = 1.59};
  auto f = rope_frequencies(rope);  // whole bounds: 1 and 3, so pair 2 is halfway
  EXPECT_DOUBLE_EQ(f[0], 1.0);
  EXPECT_DOUBLE_EQ(f[1], 0.1);
  EXPECT_NEAR(f[2], 0.01 * (0.5 + 0.5 / 4.0), 1e-15);
  EXPECT_NEAR(f[3], 0.001 / 4.0, 1e-15);
  rope.scaling.truncate = false;
  const auto dimension = [](double r) {
    return 8.0 * std::log(1000.0 / (2.0 * std::numbers::pi * r)) / (2.0 * std::log(1e4));
  };
  const double stretched = (2.0 - dimension(12.7)) / (dimension(1.59) - dimension(12.7));
  f = rope_frequencies(rope);
  EXPECT_NEAR(f[2], 0.01 * (1.0 - stretched + stretched / 4.0), 1e-12);
}

TEST(Rope, YarnsMagnitude) {
  RopeScaling s{.type = RopeScaling::Type::yarn, .factor = 4.0};
  const double plain = 0.1 * std::log(4.0) + 1.0;
  EXPECT_DOUBLE_EQ(rope_magnitude(s), plain);
  s.mscale = 2.0;
  EXPECT_DOUBLE_EQ(rope_magnitude(s), plain) << "both are needed";
  s.mscale_all_dim = 0.5;
  EXPECT_DOUBLE_EQ(rope_magnitude(s), (0.2 * std::log(4.0) + 1.0) / (0.05 * std::log(4.0) + 1.0));
  s.attention_factor = 1.5;
  EXPECT_DOUBLE_EQ(rope_magnitude(s), 1.5);
  EXPECT_EQ(rope_magnitude({.type = RopeScaling::Type::linear, .factor = 4.0}), 1.0);
}

TEST(Rope, TheTableHoldsMagnitudeTimesCosineAndSine) {
  Rope rope{.theta = 100.0, .head_dim = 4, .positions = 3};
  rope.scaling = {.type = RopeScaling::Type::yarn,
                  .factor = 1.0,
                  .original_max_position_embeddings = 100,
                  .attention_factor = 2.0};
  const RotaryTable table = rotary_table(rope);
  ASSERT_EQ(table.cos.size(), 6U);
  EXPECT_EQ(table.cos[5], float(2.0 * std::cos(0.2)));
  EXPECT_EQ(table.sin[4], float(2.0 * std::sin(2.0)));
}

}  // namespace
}  // namespace rollcall::model
