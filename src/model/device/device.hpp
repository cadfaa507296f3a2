// Private to the model: the CUDA device of this process with its streams, copies to and from it,
// and the memory that passes take piece by piece.
#pragma once

#include "kernels/cuda/device_memory.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace rollcall::model {

/// Memory that successive passes use. Pieces are taken from a block that stays allocated, and are
/// given back in reverse order. Queued work may still use a piece that was given back, because the
/// work of its next owner is queued after it.
class DeviceArena {
 public:
  /// `what`: the purpose of the passes, one of the names in device_items.
  explicit DeviceArena(const char* what) : what_(what) {}
  /// Makes the memory one block of at least `bytes`, which device_sizes.hpp computes for a pass. No
  /// piece may be in use.
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
  /// Gives back at its end what was taken since its beginning.
  class Scope {
   public:
    explicit Scope(DeviceArena& arena) : arena_(&arena), mark_(arena.mark()) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { arena_->give_back(mark_); }

   private:
    DeviceArena* arena_;
    Mark mark_;
  };

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

/// The process's device. A thread takes a turn before it uses the device, because calls from
/// several threads would interleave in its stream.
class Device {
 public:
  static Device& own();
  std::unique_lock<std::recursive_mutex> turn() { return std::unique_lock(mutex_); }
  kernels::ExecutionContext& context() { return context_; }
  /// For copies that run alongside the work of context().
  kernels::ExecutionContext& copies() { return copies_; }
  int index() const { return index_; }

  /// Copies values to the device through pinned memory. The copy stays valid until recycle().
  template <class T>
  const T* upload(std::span<const T> values) {
    return reinterpret_cast<const T*>(upload_bytes(std::as_bytes(values)));
  }
  /// Queues a copy to the host. `to` has the values after the next wait().
  template <class T>
  void download(const T* from, std::span<T> to) {
    download_bytes(from, std::as_writable_bytes(to));
  }
  void wait();     ///< waits until all queued work is done
  void recycle();  ///< frees all uploads; call it after a wait()

 private:
  Device();
  const std::byte* upload_bytes(std::span<const std::byte> bytes);
  void download_bytes(const void* from, std::span<std::byte> to);
  /// Memory on both sides, or on the host only. Its first `used` bytes are taken.
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

/// A fixed place in device memory for values that are sent again in every step, so that the same
/// graph can read them each time. Copies overlap with work that was queued before.
class DeviceInput {
 public:
  DeviceInput(Device& device, DeviceArena& arena, std::int64_t bytes)
      : device_(&device),
        pinned_(kernels::cuda::pinned_memory(std::size_t(bytes))),
        place_(arena.take<std::byte>(bytes)) {}
  /// Waits until the memory on the host is no longer being copied. The next put() then writes to
  /// its beginning.
  void begin();
  /// Appends values to those put since begin(). Together they must fit into the place. Returns
  /// their address on the device.
  template <class T>
  const T* put(std::span<const T> values) {
    return reinterpret_cast<const T*>(put_bytes(std::as_bytes(values)));
  }
  /// Queues the copy. Work that is queued on the device's stream from now on waits for it.
  void send();
  /// To be called after the work that reads the place has been queued. The next copy waits for it.
  void read();

 private:
  const std::byte* put_bytes(std::span<const std::byte> bytes);
  Device* device_;
  std::shared_ptr<std::byte> pinned_;
  std::byte* place_;
  std::size_t used_ = 0;
  kernels::cuda::Event copied_, read_;
};

}  // namespace rollcall::model
