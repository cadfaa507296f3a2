// How many leaves a step's tokens are cut into.
#pragma once

#include <cstdint>

namespace rollcall::sizing {

constexpr std::int64_t kFewMicroBatches = 8;  ///< more leave no rank without work for long, but
                                              ///< where ranks are as many

/// Micro-batches that tokens are cut into which would take `least` of the largest: few become a
/// power of two, so that they can be dealt evenly to ranks and threads, unless they would be small.
std::int64_t micro_batch_count(std::int64_t least, std::int64_t tokens);

}  // namespace rollcall::sizing
