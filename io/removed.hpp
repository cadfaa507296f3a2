// Counts of files that were removed because they had never been published, so that the removal is
// reported.
#pragma once

#include <cstdint>

namespace rollcall::io {

struct Removed {
  std::uint64_t files = 0, bytes = 0;
};

}  // namespace rollcall::io
