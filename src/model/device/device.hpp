// Private to the model: the CUDA device of this process: its streams, what is carried to it and
// back, and memory that passes take piece by piece.
#pragma once

#include "kernels/cuda/device_memory.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rollcall::model {

/// Memory for one pass after the other: pieces are taken from a block that stays, and given back as
/// they were taken. Work that is queued may still use what is given back, since who takes it queues
/// behind.
class DeviceArena {
 public:
  explicit DeviceArena(const char* what) : what_(what) {}  ///< whose passes: a name of device_items
  /// One block of at least so many bytes, as device_sizes.hpp has them for the pass. While nothing
  /// is taken.
  void reserve(std::int64_t bytes);
  struct Mark {
    std::size_t block = 0, used = 0;
  };
  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(std::size_t(count) * sizeof(T)));
  }
  Mark mark() const { return at_; }
  void give_back(Mark mark) { at_ = mark; }

 private:
  std::byte* take_bytes(std::size_t bytes);
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
  };
  const char* what_;
  std::vector<Block> blocks_;
  Mark at_;
};

/// One a process. Whoever uses it takes a turn: calls of several threads would mix in its stream.
class Device {
 public:
  static Device& own();
  std::unique_lock<std::recursive_mutex> turn() { return std::unique_lock(mutex_); }
  kernels::ExecutionContext& context() { return context_; }
  /// for copies beside the work of context()
  kernels::ExecutionContext& copies() { return copies_; }
  int index() const { return index_; }

  /// A copy on the device, through pinned memory; it stays until recycle().
  template <class T>
  const T* upload(std::span<const T> values) {
    return reinterpret_cast<const T*>(upload_bytes(std::as_bytes(values)));
  }
  /// Queues a copy; `to` is written by the next wait().
  template <class T>
  void download(const T* from, std::span<T> to) {
    download_bytes(from, std::as_writable_bytes(to));
  }
  void wait();     ///< until all that was queued is done
  void recycle();  ///< what was uploaded is needed no longer: behind a wait()

 private:
  Device();
  const std::byte* upload_bytes(std::span<const std::byte> bytes);
  void download_bytes(const void* from, std::span<std::byte> to);
  /// Memory of both sides, or of the host alone, of which the beginning is taken.
  struct Chunk {
    std::shared_ptr<std::byte> pinned, device;
    std::size_t bytes = 0, used = 0;
  };
  Chunk& chunk_for(std::vector<Chunk>& chunks, std::size_t bytes, bool both);
  struct Arriving {
    const std::byte* pinned;
    std::span<std::byte> to;
  };

  int index_ = 0;
  std::recursive_mutex mutex_;
  kernels::ExecutionContext context_, copies_;
  std::vector<Chunk> up_, down_;
  std::vector<Arriving> arriving_;
};

/// A place in device memory for what goes over again and again, so that the same work, a graph,
/// reads it each time. Copies run beside the work queued before.
class DeviceInput {
 public:
  DeviceInput(Device& device, DeviceArena& arena, std::int64_t bytes)
      : device_(&device),
        pinned_(kernels::cuda::pinned_memory(std::size_t(bytes))),
        place_(arena.take<std::byte>(bytes)) {}
  void begin();  ///< once nothing is copied out of the host's side any more
  /// Behind what was put there since begin(); what is put together is no more than the place's
  /// bytes.
  template <class T>
  const T* put(std::span<const T> values) {
    return reinterpret_cast<const T*>(put_bytes(std::as_bytes(values)));
  }
  void send();  ///< queues the copy; all that is queued on the device's stream from now on comes
                ///< behind it
  void read();  ///< what is queued there so far reads the place: the next copy comes behind it

 private:
  const std::byte* put_bytes(std::span<const std::byte> bytes);
  Device* device_;
  std::shared_ptr<std::byte> pinned_;
  std::byte* place_;
  std::size_t used_ = 0;
  kernels::cuda::Event copied_, read_;
};

}  // namespace rollcall::model
