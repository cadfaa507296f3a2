// Private to the model: inverse-CDF sampling from weights that are summed per block of the
// vocabulary. The block is found first, then the token inside it.
#pragma once

#include "kernels/kernel_set.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace rollcall::model {

/// The number of tokens in a block of a vocabulary that has `tokens` tokens. The last block may be
/// shorter.
inline std::int64_t tokens_of_block(std::size_t block, std::int64_t tokens) {
  constexpr std::int64_t size = kernels::kVocabularyBlock;
  return std::min(size, tokens - std::int64_t(block) * size);
}

/// The block in which the running sum of `mass` [blocks] passes `target`, and what remains of the
/// target inside that block. If rounding leaves the whole sum below the target, it is the last
/// block that has any mass.
template <class Mass>
std::pair<std::size_t, double> find_block(std::span<const Mass> mass, double target) {
  std::size_t last = 0;
  double below = 0.0, rest = target;
  for (std::size_t b = 0; b < mass.size(); ++b) {
    if (!(mass[b] > 0)) continue;
    last = b;
    rest = target - below;
    below += double(mass[b]);
    if (target < below) break;
  }
  return {last, rest};
}

/// The token of a block at which the running sum of the weights e * factor passes `rest`. Weights
/// below `least` are left out. `e` [count].
inline std::int64_t find_token(const float* e, std::int64_t count, float factor, float least,
                               double rest) {
  std::int64_t last = 0;
  double below = 0.0;
  for (std::int64_t j = 0; j < count; ++j) {
    const float weight = e[j] * factor;
    if (!(weight > 0.0F) || weight < least) continue;
    last = j;
    below += double(weight);
    if (rest < below) break;
  }
  return last;
}

}  // namespace rollcall::model
