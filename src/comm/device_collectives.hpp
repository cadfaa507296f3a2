// What the two transports of device memory share: every buffer passes in parts through work memory
// unless it lies where the transport works. Private to comm.
#pragma once

#include "comm/transport.hpp"

#include <cuda_runtime.h>

#include <cstddef>

namespace rollcall::comm {

/// Throws ProtocolError with the driver's own text.
void check_cuda(cudaError_t code, const char* call);
bool on_device(const void* data);
/// XXH3 64 bit of bytes on host or device.
std::uint64_t checksum_anywhere(std::span<const std::byte> bytes);

/// A stream of a device, and the memory on one side of it that a transport works in.
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
  /// lies on its side
  bool holds(const void* data) const { return on_device(data) == (side_ == Side::device); }
  /// queued
  void copy(void* to, const void* from, std::size_t bytes) const;
  bool idle() const;
  /// After an error: what is still queued reads and writes memory that its owner may give back.
  /// Waits for it, at most a second: a device may have stopped.
  void drain() const noexcept;

 private:
  int device_;
  Side side_;
  std::size_t bytes_;
  cudaStream_t stream_ = nullptr;
  std::byte* memory_ = nullptr;
};

/// Every rank cuts alike wherever its own buffer lies, so that those of host and device may meet in
/// one collective. A result is complete on return.
class DeviceCollectives : public Collectives {
 public:
  DeviceCollectives(Communicator& group, std::shared_ptr<WorkMemory> work)
      : group_(&group), work_(std::move(work)) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void sum(std::span<std::int64_t> values) override;
  void maximum(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void sum_to_shares(std::span<std::int64_t> values, std::span<const std::int64_t> begins) override;
  void gather_shares(std::span<float> values, std::span<const std::int64_t> begins) override;

 protected:
  // On the work memory's side, behind what the stream has; later copies of the stream find the
  // result.
  virtual void sum_work(std::span<std::int64_t> values) = 0;
  virtual void maximum_work(std::span<double> values) = 0;
  virtual void broadcast_work(std::span<std::byte> bytes, int root) = 0;
  /// [size(), share]; each rank's own becomes right
  virtual void sum_to_shares_work(std::span<std::int64_t> values, std::size_t share) = 0;
  /// [size(), share]; each rank has its own
  virtual void gather_work(std::span<float> values, std::size_t share) = 0;
  virtual void finish(const char* what) = 0;  ///< until the stream is idle

  Communicator* group_;
  std::shared_ptr<WorkMemory> work_;

 private:
  template <class T, class Act>
  void in_parts(std::span<T> values, const char* what, Act act);
  template <class T, class Act>
  void in_pieces(std::span<T> values, std::span<const std::int64_t> begins, const char* what,
                 Act act);
};

}  // namespace rollcall::comm
