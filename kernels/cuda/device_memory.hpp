// Memory of a CUDA device, copies to and from it, the streams on which work is queued, and their
// order: what a caller needs beside device_kernels.hpp, without CUDA's own headers.
#pragma once

#include "kernels/execution_context.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rollcall::kernels::cuda {

/// Devices that this process may use, and why there are none where there are none (empty
/// otherwise).
struct Devices {
  int count = 0;
  std::string problem;
};
Devices devices();
/// Of the calling process from here on; before anything else is asked of it.
void use_device(int index);
std::string device_name();
std::string device_kind();  ///< "compute capability 9.0": in what order its tensor cores add
/// Bytes of device memory that nobody has taken.
std::int64_t free_bytes();

/// A new stream, for ExecutionContext::stream; it lives as long as the process. It waits for no
/// other, the default one included.
void* new_stream();
/// Memory that kernels read and write, and host memory that a copy may use without another one
/// between. Freed with its last owner, once queued work is done. Where the device has no room,
/// `what` it is for is told beside what is free (std::runtime_error).
std::shared_ptr<std::byte> device_memory(std::size_t bytes, const char* what);
std::shared_ptr<std::byte> pinned_memory(std::size_t bytes);

// Queued on the context's stream. Host memory must stay as it is until the copy is done.
void copy_to_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_to_host(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_on_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void fill_zeros(ExecutionContext&, void* to, std::size_t bytes);
/// Until all that was queued is done. Throws std::runtime_error where some of it failed.
void wait(ExecutionContext&);

/// A point in a stream's work that others wait for; before the first record() there is nothing to
/// wait for.
class Event {
 public:
  Event();
  void record(const ExecutionContext&);         ///< behind what is queued there
  void wait_on(const ExecutionContext&) const;  ///< what is queued there from now on, not the host
  void wait() const;                            ///< the host

 private:
  std::shared_ptr<void> event_;
};

/// Launches and copies on device memory that were captured instead of done. It is queued as one
/// piece of work any number of times, with the arguments of the capture; what varies stands in
/// memory that they point to.
class Graph {
 public:
  /// `queue` may only queue on the context's stream: whatever takes memory or waits fails. Throws
  /// std::runtime_error.
  Graph(const ExecutionContext&, const std::function<void()>& queue);
  void launch(const ExecutionContext&) const;

 private:
  std::shared_ptr<void> executable_;
};

}  // namespace rollcall::kernels::cuda
