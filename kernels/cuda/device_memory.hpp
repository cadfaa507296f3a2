// Memory of a CUDA device, copies to and from it, the streams on which work is queued, and the
// order of that work. Together with device_kernels.hpp it spares callers the CUDA headers.
#pragma once

#include "kernels/execution_context.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rollcall::kernels::cuda {

/// The devices that this process may use. `problem` says why if there are none, and is empty
/// otherwise.
struct Devices {
  int count = 0;
  std::string problem;
};
Devices devices();
/// Makes the process use this device from now on. It must come before all other calls to the
/// device.
void use_device(int index);
std::string device_name();
std::string device_kind();  ///< "compute capability 9.0", which fixes how its tensor cores add
/// Bytes of device memory that are free.
std::int64_t free_bytes();

/// A new stream for ExecutionContext::stream, which lives as long as the process. It waits for no
/// other stream, not even for the default one.
void* new_stream();
/// Device memory, and pinned host memory, from which copies need no intermediate buffer. Both are
/// freed with their last owner, once queued work is done. If the device has no room,
/// std::runtime_error says `what` the memory was for and how much is free.
std::shared_ptr<std::byte> device_memory(std::size_t bytes, const char* what);
std::shared_ptr<std::byte> pinned_memory(std::size_t bytes);

// The copies and fill_zeros() are queued on the context's stream. Host memory must stay unchanged
// until the copy is done.
void copy_to_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_to_host(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_on_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void fill_zeros(ExecutionContext&, void* to, std::size_t bytes);
/// Waits until all queued work is done. Throws std::runtime_error if some of it failed.
void wait(ExecutionContext&);

/// A point in a stream's work for which other streams or the host can wait. Before the first
/// record() nothing waits.
class Event {
 public:
  Event();
  void record(const ExecutionContext&);         ///< marks the end of the work queued so far
  void wait_on(const ExecutionContext&) const;  ///< makes work that is queued later wait
  void wait() const;                            ///< makes the host wait

 private:
  std::shared_ptr<void> event_;
};

/// Launches and copies on device memory that were captured instead of executed. A graph can be
/// queued any number of times as one piece of work. Its arguments are those of the capture, so
/// anything that varies must be in memory that they point to.
class Graph {
 public:
  /// `queue` may only queue work on the context's stream. Taking memory or waiting throws
  /// std::runtime_error.
  Graph(const ExecutionContext&, const std::function<void()>& queue);
  void launch(const ExecutionContext&) const;

 private:
  std::shared_ptr<void> executable_;
};

}  // namespace rollcall::kernels::cuda
