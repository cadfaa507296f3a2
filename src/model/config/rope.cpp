// Scaling of rotary frequencies as in modeling_rope_utils.py of transformers 5.23, which names each
// paper. It is computed in double, whereas that file uses fp32.
#include "model/config/rope.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace rollcall::model {
namespace {

/// Llama 3.1: the factor stretches long waves, short ones are kept, and those in between are
/// blended.
double llama3_frequency(double frequency, const RopeScaling& s) {
  const double original = double(s.original_max_position_embeddings),
               wavelength = 2.0 * std::numbers::pi / frequency;
  if (wavelength < original / s.high_freq_factor) return frequency;
  if (wavelength > original / s.low_freq_factor) return frequency / s.factor;
  const double smooth =
      (original / wavelength - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1.0 - smooth) * frequency / s.factor + smooth * frequency;
}

/// YaRN (Peng et al. 2023, arXiv:2309.00071, section 3.2): the dimension whose pair rotates
/// `rotations` times within the positions of pretraining.
double yarn_dimension(double rotations, const Rope& rope) {
  const double original = double(rope.scaling.original_max_position_embeddings);
  return double(rope.head_dim) * std::log(original / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(rope.theta));
}

/// Fast pairs keep their frequency, and those of slow pairs are divided by the factor. A linear
/// ramp connects the two over the dimensions in between.
void scale_by_yarn(std::vector<double>& frequencies, const Rope& rope) {
  const RopeScaling& s = rope.scaling;
  double low = yarn_dimension(s.beta_fast, rope), high = yarn_dimension(s.beta_slow, rope);
  if (s.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0);
  high = std::min(high, double(rope.head_dim - 1));
  if (low == high) high += 0.001;  // transformers avoids the division by zero in the same way
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const double stretched = std::clamp((double(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / s.factor * stretched + frequencies[i] * (1.0 - stretched);
  }
}

}  // namespace

const char* name_of(RopeScaling::Type type) {
  static constexpr std::array<const char*, 4> kNames = {"default", "linear", "llama3", "yarn"};
  return kNames.at(std::size_t(type));
}

std::vector<double> rope_frequencies(const Rope& rope) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rope.head_dim / 2; ++i)
    frequencies.push_back(std::pow(rope.theta, -2.0 * double(i) / double(rope.head_dim)));
  switch (rope.scaling.type) {
    case RopeScaling::Type::none: break;
    case RopeScaling::Type::linear:
      for (double& frequency : frequencies) frequency /= rope.scaling.factor;
      break;
    case RopeScaling::Type::llama3:
      for (double& frequency : frequencies) frequency = llama3_frequency(frequency, rope.scaling);
      break;
    case RopeScaling::Type::yarn: scale_by_yarn(frequencies, rope); break;
  }
  return frequencies;
}

double rope_magnitude(const RopeScaling& s) {
  if (s.type != RopeScaling::Type::yarn) return 1.0;
  if (s.attention_factor) return *s.attention_factor;
  const auto magnitude = [&](double scale) {
    return s.factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(s.factor) + 1.0;
  };
  return s.mscale && s.mscale_all_dim ? magnitude(*s.mscale) / magnitude(*s.mscale_all_dim)
                                      : magnitude(1.0);
}

RotaryTable rotary_table(const Rope& rope) {
  RotaryTable table{rope, {}, {}};
  const std::vector<double> frequencies = rope_frequencies(rope);
  const double magnitude = rope_magnitude(rope.scaling);
  table.cos.reserve(std::size_t(rope.positions) * frequencies.size());
  table.sin.reserve(table.cos.capacity());
  for (std::int64_t position = 0; position < rope.positions; ++position) {
    for (const double frequency : frequencies) {
      const double angle = double(position) * frequency;
      table.cos.push_back(float(magnitude * std::cos(angle)));
      table.sin.push_back(float(magnitude * std::sin(angle)));
    }
  }
  return table;
}

}  // namespace rollcall::model
