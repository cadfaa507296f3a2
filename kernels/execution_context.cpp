// Scratch memory for kernel calls, which grows but never shrinks.
#include "kernels/execution_context.hpp"

namespace rollcall::kernels {

float* Workspace::floats(std::size_t count) {
  constexpr std::size_t alignment = 64;  // a cache line and an AVX-512 register
  const std::size_t needed = count + alignment / sizeof(float);
  if (memory_.size() < needed) memory_.resize(needed);
  void* start = memory_.data();
  std::size_t space = memory_.size() * sizeof(float);
  return static_cast<float*>(std::align(alignment, count * sizeof(float), start, space));
}

}  // namespace rollcall::kernels
