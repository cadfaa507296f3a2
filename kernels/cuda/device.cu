// The error check of the CUDA kernels, and the memory, copies, streams, events and graphs of the
// device.
#include "kernels/cuda/device.cuh"

#include "kernels/cuda/device_memory.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

namespace rollcall::kernels::cuda {

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess)
    throw std::runtime_error(
        std::string(call) + " failed on the CUDA device (" + cudaGetErrorString(status) +
        "); check that the device is free, of a supported architecture, and that operands lie in memory it reaches");
}

namespace {
std::string megabytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}
}  // namespace

void check_taken(cudaError_t status, std::size_t bytes, const char* what) {
  if (status != cudaErrorMemoryAllocation) return check(status, "taking device memory");
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  throw std::runtime_error(
      std::string("the CUDA device has no room for ") + what + ": " + megabytes(bytes) +
      " asked for, " + megabytes(free) + " of " + megabytes(all) +
      " free (the run needs it); see with `rollcall plan RUN.toml --gpus N` what each device holds, then use more ranks, smaller micro-batches "
      "(train.micro_batch_tokens), shorter answers (sampling.max_new_tokens) or devices that nobody else uses");
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}

Devices devices() {
  Devices found;
  if (const cudaError_t status = cudaGetDeviceCount(&found.count); status != cudaSuccess)
    found = {0, cudaGetErrorString(status)};
  else if (found.count == 0) found.problem = "no CUDA device is visible";
  return found;
}

void use_device(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
  // Without this, scratch memory would go back to the driver at every wait and would be mapped
  // again for the next launch.
  cudaMemPool_t pool{};
  std::uint64_t all = UINT64_MAX;
  check(cudaDeviceGetDefaultMemPool(&pool, index), "cudaDeviceGetDefaultMemPool");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
        "cudaMemPoolSetAttribute");
}

namespace {
cudaDeviceProp properties_of_this() {
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  return properties;
}
}  // namespace

std::string device_name() { return properties_of_this().name; }

std::string device_kind() {
  const cudaDeviceProp properties = properties_of_this();
  return "compute capability " + std::to_string(properties.major) + "." +
         std::to_string(properties.minor);
}

std::int64_t free_bytes() {
  std::size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  return static_cast<std::int64_t>(free);
}

void* new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

std::shared_ptr<std::byte> device_memory(std::size_t bytes, const char* what) {
  void* memory = nullptr;
  check_taken(cudaMalloc(&memory, bytes), bytes, what);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { cudaFree(p); }};
}

std::shared_ptr<std::byte> pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  return {static_cast<std::byte*>(memory), [](std::byte* p) { cudaFreeHost(p); }};
}

void copy_to_device(ExecutionContext& context, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(context)),
        "cudaMemcpyAsync");
}
void copy_to_host(ExecutionContext& context, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(context)),
        "cudaMemcpyAsync");
}
void copy_on_device(ExecutionContext& context, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(context)),
        "cudaMemcpyAsync");
}
void fill_zeros(ExecutionContext& context, void* to, std::size_t bytes) {
  check(cudaMemsetAsync(to, 0, bytes, stream_of(context)), "cudaMemsetAsync");
}
void wait(ExecutionContext& context) {
  check(cudaStreamSynchronize(stream_of(context)), "cudaStreamSynchronize");
}

Event::Event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  event_ = {event, [](cudaEvent_t e) { cudaEventDestroy(e); }};
}
void Event::record(const ExecutionContext& context) {
  check(cudaEventRecord(static_cast<cudaEvent_t>(event_.get()), stream_of(context)),
        "cudaEventRecord");
}
void Event::wait_on(const ExecutionContext& context) const {
  check(cudaStreamWaitEvent(stream_of(context), static_cast<cudaEvent_t>(event_.get()), 0),
        "cudaStreamWaitEvent");
}
void Event::wait() const {
  check(cudaEventSynchronize(static_cast<cudaEvent_t>(event_.get())), "cudaEventSynchronize");
}

Graph::Graph(const ExecutionContext& context, const std::function<void()>& queue) {
  const auto expect = [](cudaError_t status, const char* call) {
    if (status != cudaSuccess)
      throw std::runtime_error(
          std::string("a CUDA graph could not be made: ") + call + " failed (" +
          cudaGetErrorString(status) +
          "; steps of decoding are launched as graphs); look at the driver's version and its free device memory");
  };
  // The capture is limited to this thread, so that calls of other threads do not disturb it.
  expect(cudaStreamBeginCapture(stream_of(context), cudaStreamCaptureModeThreadLocal),
         "cudaStreamBeginCapture");
  cudaGraph_t captured = nullptr;
  try {
    queue();
  } catch (...) {
    cudaStreamEndCapture(stream_of(context), &captured);
    if (captured != nullptr) cudaGraphDestroy(captured);
    throw;
  }
  expect(cudaStreamEndCapture(stream_of(context), &captured), "cudaStreamEndCapture");
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, captured, 0);
  cudaGraphDestroy(captured);
  expect(made, "cudaGraphInstantiate");
  executable_ = {executable, [](cudaGraphExec_t e) { cudaGraphExecDestroy(e); }};
}
void Graph::launch(const ExecutionContext& context) const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_.get()), stream_of(context)),
        "cudaGraphLaunch");
}

}  // namespace rollcall::kernels::cuda
