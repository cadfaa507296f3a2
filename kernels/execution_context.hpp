// What a kernel call needs besides its operands: scratch memory, and on a device also the stream.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace rollcall::kernels {

/// Scratch memory that grows but never shrinks. Each thread has its own and uses it for call after
/// call.
class Workspace {
 public:
  /// At least `count` floats with undefined contents, aligned to 64 bytes, valid until the next
  /// call.
  float* floats(std::size_t count);

 private:
  std::vector<float> memory_;
};

/// Passed to every kernel. `stream` is a cudaStream_t on a device and null on the host.
struct ExecutionContext {
  Workspace workspace;
  Workspace operands;  ///< for a kernel that calls other kernels, which use `workspace`
  void* stream = nullptr;
};

}  // namespace rollcall::kernels
