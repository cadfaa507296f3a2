// CUDA's device language and runtime, as far as the kernels use them, for the host compiler. What runs them is in tests/emulation.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#define ROLLCALL_EMULATED_DEVICE

#define __host__
#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static  // one block runs at a time
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __restrict__ __restrict

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

namespace emulation {

/// What the lanes of a warp hand to each other.
inline constexpr std::size_t kLaneBytes = 64;
struct Lanes {
  alignas(16) unsigned char of[32][kLaneBytes];
};

/// What a thread may read without its being memory of the kernel.
struct BuiltIn {
  uint3 thread_idx, block_idx;
  dim3 block_dim, grid_dim;
  Lanes handed[32];  ///< by warp
};
extern BuiltIn built_in;

/// A place in the sources at which threads wait.
struct Site {
  const char* file;
  int line;
  auto operator<=>(const Site& other) const = default;
};
void sync_threads(Site site);
void sync_warp(unsigned mask, Site site);
/// Hands every lane of the warp the `bytes` (at most kLaneBytes) of every other.
const Lanes& exchange(unsigned mask, const void* value, std::size_t bytes, Site site);
/// Notes an atomic access of the running thread.
void note_atomic(void* place, std::size_t bytes, void* site);
void* dynamic_shared();

template <class T>
T lane_value(const Lanes& lanes, unsigned lane) {
  T value;
  std::memcpy(&value, lanes.of[lane % 32], sizeof(T));
  return value;
}
inline unsigned lane() { return built_in.thread_idx.x % 32; }

}  // namespace emulation

inline constexpr const uint3 &threadIdx = emulation::built_in.thread_idx, &blockIdx = emulation::built_in.block_idx;
inline constexpr const dim3 &blockDim = emulation::built_in.block_dim, &gridDim = emulation::built_in.grid_dim;

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { emulation::sync_threads({file, line}); }
inline void __syncwarp(unsigned mask = ~0U, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { emulation::sync_warp(mask, {file, line}); }

template <class T>
T __shfl_sync(unsigned mask, T value, int from, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulation::lane_value<T>(emulation::exchange(mask, &value, sizeof value, {file, line}), unsigned(from));
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int with, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return emulation::lane_value<T>(emulation::exchange(mask, &value, sizeof value, {file, line}), emulation::lane() ^ unsigned(with));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const unsigned lane = emulation::lane();
  return emulation::lane_value<T>(emulation::exchange(mask, &value, sizeof value, {file, line}), lane + by < 32 ? lane + by : lane);
}
inline unsigned __ballot_sync(unsigned mask, int vote, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const emulation::Lanes& lanes = emulation::exchange(mask, &vote, sizeof vote, {file, line});
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i) votes |= (emulation::lane_value<int>(lanes, i) != 0 ? 1U : 0U) << i;
  return votes;
}
inline int __any_sync(unsigned mask, int vote, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return __ballot_sync(mask, vote, file, line) != 0; }
inline int __all_sync(unsigned mask, int vote, const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return __ballot_sync(mask, vote, file, line) == ~0U; }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(unsigned(bits)); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// One thread runs at a time, so an atomic operation is a plain one that is noted as atomic.
template <class T, class Change>
__attribute__((noinline, no_sanitize("thread"))) T emulated_atomic(T* place, const Change& change) {
  emulation::note_atomic(place, sizeof(T), __builtin_return_address(0));
  const T before = *place;
  *place = change(before);
  return before;
}
template <class T>
T atomicAdd(T* place, T value) {
  return emulated_atomic(place, [value](T before) __attribute__((no_sanitize("thread"))) { return T(before + value); });
}
template <class T>
T atomicMax(T* place, T value) {
  return emulated_atomic(place, [value](T before) __attribute__((no_sanitize("thread"))) { return before < value ? value : before; });
}

// The runtime. Work is done when somebody waits for it, and no earlier.
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotReady = 600,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901
};
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device);
enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
  cudaMemoryType type;
};
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* place);
cudaError_t cudaGetDevice(int* device);
struct cudaDeviceProp {
  char name[256];
  int major = std::getenv("EMULATED_CAPABILITY") == nullptr ? 9 : std::atoi(std::getenv("EMULATED_CAPABILITY")), minor = 0;
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all);
using cudaMemPool_t = void*;
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold };
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);

namespace emulation {
struct Stream;
struct Event;
struct Graph;
}  // namespace emulation
using cudaStream_t = emulation::Stream*;
using cudaEvent_t = emulation::Event*;
using cudaGraph_t = emulation::Graph*;
using cudaGraphExec_t = emulation::Graph*;

enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
inline constexpr unsigned cudaStreamNonBlocking = 1;
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreate(cudaEvent_t* event);
inline constexpr unsigned cudaEventDisableTiming = 2;
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);

enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  cudaLaunchAttribute* attrs = nullptr;
  unsigned numAttrs = 0;
};

namespace emulation {
/// A kernel with its arguments, which it may read where they lie.
struct Launch {
  const void* kernel;
  cudaLaunchConfig_t config;
  void (*thread)(const void* arguments);
  std::shared_ptr<const void> arguments;
  std::size_t bytes;
};
cudaError_t enqueue(Launch launch);
void limit_shared(const void* kernel, int bytes);
}  // namespace emulation

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  using Held = std::pair<void (*)(Parameters...), std::tuple<Parameters...>>;
  const auto thread = [](const void* held) { std::apply(static_cast<const Held*>(held)->first, static_cast<const Held*>(held)->second); };
  const auto held = std::make_shared<const Held>(kernel, std::tuple<Parameters...>(static_cast<Parameters>(arguments)...));
  return emulation::enqueue({reinterpret_cast<const void*>(kernel), *config, thread, held, sizeof(Held)});
}

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute, int bytes) {
  emulation::limit_shared(reinterpret_cast<const void*>(kernel), bytes);
  return cudaSuccess;
}
