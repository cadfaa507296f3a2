// Shares of a buffer that ranks own: share r is [begins[r], begins[r + 1]). Private to comm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace rollcall::comm {

inline std::int64_t longest_share(std::span<const std::int64_t> begins) {
  std::int64_t longest = 0;
  for (std::size_t r = 0; r + 1 < begins.size(); ++r)
    longest = std::max(longest, begins[r + 1] - begins[r]);
  return longest;
}

}  // namespace rollcall::comm
