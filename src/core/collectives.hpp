// The collectives that the model and the update need, as an abstract interface: implemented by comm over MPI or NCCL, and in process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall {

/// All members of a group of ranks call the same method in the same order.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void sum(std::span<std::int64_t> values) = 0;  ///< in place, exact and order-free
  virtual void maximum(std::span<double> values) = 0;    ///< in place
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void barrier() = 0;
};

}  // namespace rollcall
