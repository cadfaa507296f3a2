// Layout of a packed weight matrix: panels of kPanel outputs, k-major inside, so that one step of k reads one contiguous vector of outputs.
#pragma once

#include <cstdint>

namespace rollcall::kernels {

/// Outputs in a panel: the 16 lanes of a vector.
inline constexpr std::int64_t kPanel = 16;

}  // namespace rollcall::kernels
