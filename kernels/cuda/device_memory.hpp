// Memory of a CUDA device, copies to and from it, and the stream on which work is queued: what a caller needs beside device_kernels.hpp, without CUDA's own headers.
#pragma once

#include "kernels/execution_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rollcall::kernels::cuda {

/// Devices that this process may use, and why there are none where there are none (empty otherwise).
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

/// A new stream, for ExecutionContext::stream; it lives as long as the process.
void* new_stream();
/// Memory that kernels read and write, and host memory that a copy may use without another one between. Freed with its last owner, once queued work is done.
/// Where the device has no room, `what` it is for is told beside what is free (std::runtime_error).
std::shared_ptr<std::byte> device_memory(std::size_t bytes, const char* what = "a pass");
std::shared_ptr<std::byte> pinned_memory(std::size_t bytes);

// Queued on the context's stream. Host memory must stay as it is until the copy is done.
void copy_to_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_to_host(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void copy_on_device(ExecutionContext&, void* to, const void* from, std::size_t bytes);
void fill_zeros(ExecutionContext&, void* to, std::size_t bytes);
/// Until all that was queued is done. Throws std::runtime_error where some of it failed.
void wait(ExecutionContext&);

}  // namespace rollcall::kernels::cuda
