// Rotary position embeddings: the frequencies of each scaling type, and the table of cosines and
// sines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::model {

/// How the frequencies are stretched beyond the positions of pretraining.
struct RopeScaling {
  enum class Type { none, linear, llama3, yarn };
  Type type = Type::none;
  double factor = 1.0;
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  ///< llama3
  std::int64_t original_max_position_embeddings = 0;     ///< llama3, yarn: positions of pretraining
  double beta_fast = 32.0, beta_slow = 1.0;  ///< yarn: rotations at which interpolation begins and
                                             ///< is complete
  bool truncate = true;                      ///< yarn: the bounds of the ramp are whole dimensions
  std::optional<double> attention_factor, mscale, mscale_all_dim;  ///< yarn

  bool operator==(const RopeScaling&) const = default;
};

/// The spelling in config.json: "default", "linear", "llama3", "yarn".
const char* name_of(RopeScaling::Type type);

/// What the rotation of heads of `head_dim` is made of.
struct Rope {
  double theta = 1e4;
  std::int64_t head_dim = 0, positions = 0;
  RopeScaling scaling;

  bool operator==(const Rope&) const = default;
};

/// Radians per position of each pair of dimensions: [head_dim / 2].
std::vector<double> rope_frequencies(const Rope& rope);

/// What cosines and sines are multiplied by (yarn's attention factor, else 1).
double rope_magnitude(const RopeScaling& scaling);

/// cos and sin of position * frequency, times the magnitude, computed in double: [positions,
/// head_dim / 2].
struct RotaryTable {
  Rope rope;
  std::vector<float> cos, sin;
};
RotaryTable rotary_table(const Rope& rope);

}  // namespace rollcall::model
