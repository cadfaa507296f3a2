// Small numbers of micro-batches are rounded up to powers of two.
#include "sizing/micro_batch_count.hpp"

#include <algorithm>
#include <bit>

namespace rollcall::sizing {
namespace {

constexpr std::int64_t kSmallMicroBatch = 128;  ///< with fewer tokens, reading the weights and
                                                ///< adding to their gradient would take longer than
                                                ///< the products

}  // namespace

std::int64_t micro_batch_count(std::int64_t least, std::int64_t tokens) {
  if (least > kFewMicroBatches) return least;
  const auto count = std::int64_t(std::bit_ceil(std::uint64_t(std::max<std::int64_t>(least, 2))));
  return tokens / count >= kSmallMicroBatch ? count : least;
}

}  // namespace rollcall::sizing
