// The collectives that the model and the update need, as an abstract interface: implemented by comm
// over MPI or NCCL, and in process.
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

  // A buffer cut into shares: that of rank r is [begins[r], begins[r + 1]); begins has size() + 1
  // entries, the last one the size of the buffer. Made of sum and broadcast unless a transport
  // moves less.
  /// As sum, but only the own share is right afterwards; the rest of the buffer is undefined.
  virtual void sum_to_shares(std::span<std::int64_t> values, std::span<const std::int64_t> begins);
  /// Gives every rank's share to all.
  virtual void gather_shares(std::span<float> values, std::span<const std::int64_t> begins);
};

inline void Collectives::sum_to_shares(std::span<std::int64_t> values,
                                       std::span<const std::int64_t>) {
  sum(values);
}

inline void Collectives::gather_shares(std::span<float> values,
                                       std::span<const std::int64_t> begins) {
  for (int root = 0; root < size(); ++root) {
    const auto begin = std::size_t(begins[std::size_t(root)]),
               end = std::size_t(begins[std::size_t(root) + 1]);
    if (begin < end) broadcast(std::as_writable_bytes(values.subspan(begin, end - begin)), root);
  }
}

}  // namespace rollcall
