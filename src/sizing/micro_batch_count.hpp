// Decides into how many micro-batches a step's tokens are cut.
#pragma once

#include <cstdint>

namespace rollcall::sizing {

constexpr std::int64_t kFewMicroBatches = 8;  ///< with more micro-batches than this, no rank is
                                              ///< idle for long, unless the number of ranks is
                                              ///< similar

/// Number of micro-batches for `tokens` tokens, which need at least `least` full-size ones. A small
/// number becomes a power of two, so that micro-batches can be dealt evenly to ranks and threads,
/// unless they would be too small.
std::int64_t micro_batch_count(std::int64_t least, std::int64_t tokens);

}  // namespace rollcall::sizing
