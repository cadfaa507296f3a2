// What was removed because it had never been published: counted, so that nothing goes without a
// word.
#pragma once

#include <cstdint>

namespace rollcall::io {

struct Removed {
  std::uint64_t files = 0, bytes = 0;
};

}  // namespace rollcall::io
