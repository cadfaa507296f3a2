// Shares of a buffer that ranks own: share r is [share_offsets[r], share_offsets[r + 1]). Private
// to comm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rollcall::comm {

inline std::int64_t longest_share(std::span<const std::int64_t> share_offsets) {
  std::int64_t longest = 0;
  for (std::size_t r = 0; r + 1 < share_offsets.size(); ++r)
    longest = std::max(longest, share_offsets[r + 1] - share_offsets[r]);
  return longest;
}

}  // namespace rollcall::comm
