// The collectives that the model and the update need, as an interface. comm implements it over MPI,
// over NCCL and within one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall {

/// All ranks of a group call the same function in the same order.
class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void sum(std::span<std::int64_t> values) = 0;  ///< in place; exact, so the order of ranks
                                                         ///< does not matter
  virtual void maximum(std::span<double> values) = 0;    ///< in place
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  virtual void barrier() = 0;

  // In the next two functions, the buffer is cut into shares. That of rank r is [share_offsets[r],
  // share_offsets[r + 1]); share_offsets has size() + 1 entries, the last of which is the size of
  // the buffer. Both functions call sum and broadcast, unless a transport can move fewer bytes.
  /// Like sum, but only this rank's own share is right afterwards; the rest of the buffer is
  /// undefined.
  virtual void sum_to_shares(std::span<std::int64_t> values,
                             std::span<const std::int64_t> share_offsets);
  /// Gathers the shares: each rank passes its own share in place, and then has those of all ranks.
  virtual void gather_shares(std::span<float> values, std::span<const std::int64_t> share_offsets);
};

inline void Collectives::sum_to_shares(std::span<std::int64_t> values,
                                       std::span<const std::int64_t>) {
  sum(values);
}

inline void Collectives::gather_shares(std::span<float> values,
                                       std::span<const std::int64_t> share_offsets) {
  for (int root = 0; root < size(); ++root) {
    const auto begin = std::size_t(share_offsets[std::size_t(root)]),
               end = std::size_t(share_offsets[std::size_t(root) + 1]);
    if (begin < end) broadcast(std::as_writable_bytes(values.subspan(begin, end - begin)), root);
  }
}

}  // namespace rollcall
