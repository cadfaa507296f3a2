// NCCL behind the same interface as MPI: integer sums are exact, so both give the same bits.
#include "comm/nccl_collectives.hpp"

#include "base/error.hpp"
#include "comm/backoff.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <exception>

namespace rollcall::comm {
namespace {

constexpr std::size_t kStagingBytes = std::size_t{64} << 20;  ///< host buffers pass through in parts of this size

void check(cudaError_t code, const char* call) {
  require<ProtocolError>(code == cudaSuccess, fmt::format("{} failed", call), cudaGetErrorString(code), "see the driver's log (dmesg, Xid) of this node");
}
void check(ncclResult_t code, const char* call) {
  require<ProtocolError>(code == ncclSuccess, fmt::format("{} failed", call), ncclGetErrorString(code), "set NCCL_DEBUG=INFO to see its reason");
}

bool on_device(const void* data) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

class NcclCollectives final : public Collectives {
 public:
  NcclCollectives(Communicator& group, int device, double deadline_s)
      : rank_(group.rank()), size_(group.size()), device_(device), deadline_s_(deadline_s), exceptions_(std::uncaught_exceptions()) {
    ncclUniqueId id{};
    if (rank_ == 0) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    group.broadcast(std::as_writable_bytes(std::span(id.internal)), 0);
    check(cudaSetDevice(device_), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check(cudaMalloc(&staging_, kStagingBytes), "cudaMalloc");
    check(ncclCommInitRank(&comm_, size_, id, rank_), "ncclCommInitRank");
  }
  ~NcclCollectives() override {
    // In order ncclCommDestroy waits for the other ranks; on the way out of an error they may never come.
    if (comm_) std::uncaught_exceptions() > exceptions_ ? ncclCommAbort(comm_) : ncclCommDestroy(comm_);
    cudaFree(staging_);
    cudaStreamDestroy(stream_);
  }
  NcclCollectives(const NcclCollectives&) = delete;
  NcclCollectives& operator=(const NcclCollectives&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void sum(std::span<std::int64_t> values) override { reduce(values, ncclInt64, ncclSum); }
  void maximum(std::span<double> values) override { reduce(values, ncclFloat64, ncclMax); }
  void broadcast(std::span<std::byte> bytes, int root) override {
    in_parts("ncclBroadcast", bytes, [&](std::byte* part, std::size_t count) { return ncclBroadcast(part, part, count, ncclUint8, root, comm_, stream_); });
  }
  void barrier() override {
    std::int64_t one = 1;
    sum({&one, 1});
  }

 private:
  template <class T>
  void reduce(std::span<T> values, ncclDataType_t type, ncclRedOp_t operation) {
    in_parts("ncclAllReduce", values, [&](T* part, std::size_t count) { return ncclAllReduce(part, part, count, type, operation, comm_, stream_); });
  }
  template <class T, class Post>
  void in_parts(const char* call, std::span<T> values, Post post);
  void finish(const char* call);

  int rank_, size_, device_;
  double deadline_s_;
  int exceptions_;  ///< in flight at construction
  cudaStream_t stream_ = nullptr;
  void* staging_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

/// Every rank cuts alike whether its own buffer is staged or not, so that host and device buffers may meet in one collective.
template <class T, class Post>
void NcclCollectives::in_parts(const char* call, std::span<T> values, Post post) {
  if (values.empty()) return;
  check(cudaSetDevice(device_), "cudaSetDevice");
  const bool in_place = on_device(values.data());
  const std::size_t part = kStagingBytes / sizeof(T);
  for (std::size_t first = 0; first < values.size(); first += part) {
    const std::span<T> piece = values.subspan(first, std::min(part, values.size() - first));
    T* work = in_place ? piece.data() : static_cast<T*>(staging_);
    if (!in_place) check(cudaMemcpyAsync(work, piece.data(), piece.size_bytes(), cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    check(post(work, piece.size()), call);
    if (!in_place) check(cudaMemcpyAsync(piece.data(), work, piece.size_bytes(), cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    finish(call);
  }
}

/// Sleeps until the stream is empty; cudaStreamSynchronize would spin and could not be given a deadline.
void NcclCollectives::finish(const char* call) {
  for (Backoff wait;; give_way(wait.pause_s())) {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, call);
    ncclResult_t error = ncclSuccess;
    check(ncclCommGetAsyncError(comm_, &error), "ncclCommGetAsyncError");
    const bool late = wait.waited_s() >= deadline_s_;
    if (error == ncclSuccess && !late) continue;
    ncclCommAbort(comm_);  // ends the kernel that waits on the device
    comm_ = nullptr;
    check(error, call);
    throw ProtocolError(error_message(fmt::format("rank {} of {} waited {:.3g} s in {}", rank_, size_, wait.waited_s(), call),
                                      "a rank that should take part is stuck, has ended or called something else",
                                      "look for the rank whose log stops first, or raise the deadline"));
  }
}

}  // namespace

std::unique_ptr<Collectives> nccl_collectives(Communicator& group, int device, double deadline_s) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  require<EnvironmentError>(code == cudaSuccess && device >= 0 && device < devices, fmt::format("rank {} has no CUDA device {}", group.rank(), device),
                            code == cudaSuccess ? fmt::format("this process sees {}", devices) : cudaGetErrorString(code),
                            "give every rank a device of its own, for example with srun --gpus-per-task=1");
  return std::make_unique<NcclCollectives>(group, device, deadline_s);
}

}  // namespace rollcall::comm
