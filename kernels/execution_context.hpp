// What a kernel call needs besides its operands: scratch memory and, on a device, the stream.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace rollcall::kernels {

/// Grow-only scratch memory, 64-byte aligned; one per thread, reused from call to call.
class Workspace {
 public:
  /// At least `count` floats, valid until the next call. Contents are undefined.
  float* floats(std::size_t count);

 private:
  std::vector<float> memory_;
};

/// Passed to every kernel. `stream` is a cudaStream_t on a device and null on the host.
struct ExecutionContext {
  Workspace workspace;
  Workspace operands;  ///< of a kernel that calls others
  void* stream = nullptr;
};

}  // namespace rollcall::kernels
