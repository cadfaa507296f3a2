// Code that both transports for device memory (NCCL, and MPI staged through the host) share. A
// buffer that does not lie where the transport works is copied through work memory, part by part.
// Private to comm.
#pragma once

#include "comm/transport.hpp"

#include <cuda_runtime.h>

#include <cstddef>

namespace rollcall::comm {

/// Throws ProtocolError with the CUDA driver's own text.
void check_cuda(cudaError_t code, const char* call);
bool on_device(const void* data);
/// 64-bit XXH3 of bytes on the host or on the device.
std::uint64_t checksum_anywhere(std::span<const std::byte> bytes);

/// A CUDA stream and the work memory of a transport, which lies either on the host or on the
/// device.
class WorkMemory {
 public:
  enum class Side { host, device };
  WorkMemory(int device, Side side, std::size_t bytes);
  ~WorkMemory();
  WorkMemory(const WorkMemory&) = delete;
  WorkMemory& operator=(const WorkMemory&) = delete;

  void use() const { check_cuda(cudaSetDevice(device_), "cudaSetDevice"); }
  cudaStream_t stream() const { return stream_; }
  std::byte* begin() const { return memory_; }
  std::size_t bytes() const { return bytes_; }
  /// Whether `data` lies on the same side as the work memory.
  bool holds(const void* data) const { return on_device(data) == (side_ == Side::device); }
  /// Queues a copy on the stream.
  void copy(void* to, const void* from, std::size_t bytes) const;
  bool idle() const;
  /// Waits until the stream is empty, at most one second, because a device may have stopped. After
  /// an error this keeps queued copies from using memory that its owner is about to free.
  void drain() const noexcept;

 private:
  int device_;
  Side side_;
  std::size_t bytes_;
  cudaStream_t stream_ = nullptr;
  std::byte* memory_ = nullptr;
};

/// Collectives through work memory. All ranks cut their buffers into the same parts, wherever a
/// buffer lies, so that host and device buffers may meet in one collective. The result is complete
/// when a call returns.
class DeviceCollectives : public Collectives {
 public:
  DeviceCollectives(Communicator& group, std::shared_ptr<WorkMemory> work)
      : group_(&group), work_(std::move(work)) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void sum(std::span<std::int64_t> values) override;
  void maximum(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void sum_to_shares(std::span<std::int64_t> values,
                     std::span<const std::int64_t> share_offsets) override;
  void gather_shares(std::span<float> values, std::span<const std::int64_t> share_offsets) override;

 protected:
  // These run on work memory, after what the stream already holds. Copies that are queued later see
  // the result.
  virtual void sum_work(std::span<std::int64_t> values) = 0;
  virtual void maximum_work(std::span<double> values) = 0;
  virtual void broadcast_work(std::span<std::byte> bytes, int root) = 0;
  /// values: [size(), share]. Afterwards row r holds the sum on rank r, and the other rows there
  /// are undefined.
  virtual void sum_to_shares_work(std::span<std::int64_t> values, std::size_t share) = 0;
  /// values: [size(), share]. Rank r contributes row r; afterwards every rank has all rows.
  virtual void gather_work(std::span<float> values, std::size_t share) = 0;
  virtual void finish(const char* what) = 0;  ///< waits until the stream is empty

  Communicator* group_;
  std::shared_ptr<WorkMemory> work_;

 private:
  template <class T, class Act>
  void in_parts(std::span<T> values, const char* what, Act act);
  template <class T, class Act>
  void in_pieces(std::span<T> values, std::span<const std::int64_t> share_offsets, const char* what,
                 Act act);
};

}  // namespace rollcall::comm
