// Rotary position embeddings: the frequencies of each scaling type, and the table of cosines and
// sines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::model {

/// How frequencies are scaled for contexts longer than those of pretraining.
struct RopeScaling {
  enum class Type { none, linear, llama3, yarn };
  Type type = Type::none;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  ///< llama3
  std::int64_t original_max_position_embeddings = 0;     ///< llama3, yarn: positions of pretraining
  /// yarn: interpolation begins below beta_fast rotations within the original positions, and is
  /// complete at beta_slow.
  double beta_fast = 32.0, beta_slow = 1.0;
  bool truncate = true;  ///< yarn: whether the bounds of the ramp are rounded to whole dimensions
  std::optional<double> attention_factor, mscale, mscale_all_dim;  ///< yarn

  bool operator==(const RopeScaling&) const = default;
};

/// The spelling in config.json: "default", "linear", "llama3", "yarn".
const char* name_of(RopeScaling::Type type);

/// What determines the rotation of a head of `head_dim` dimensions.
struct Rope {
  double theta = 1e4;
  std::int64_t head_dim = 0, positions = 0;
  RopeScaling scaling;

  bool operator==(const Rope&) const = default;
};

/// Radians per position of each pair of dimensions: [head_dim / 2].
std::vector<double> rope_frequencies(const Rope& rope);

/// The factor on cosines and sines: yarn's attention factor, otherwise 1.
double rope_magnitude(const RopeScaling& scaling);

/// cos and sin of position * frequency, times the magnitude, computed in double: [positions,
/// head_dim / 2].
struct RotaryTable {
  Rope rope;
  std::vector<float> cos, sin;
};
RotaryTable rotary_table(const Rope& rope);

}  // namespace rollcall::model
