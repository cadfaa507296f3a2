// Collectives between ranks of one node through shared memory. Each rank writes its contribution
// where the others can read it, and the last rank to arrive wakes those that sleep. Without this, a
// waiting rank would have to poll, which takes time from ranks that compute on the same cores.
// Private to comm.
#pragma once

#include "core/shared_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::comm {

class Communicator;
int cores_together(Communicator& ranks);  ///< Number of cores that any of these ranks, all of one
                                          ///< node, may use. Collective.

class NodeRendezvous {
 public:
  static constexpr std::size_t kRoom =
      std::size_t{1} << 20;  ///< Bytes that a rank may contribute to one collective. Pages that are
                             ///< never touched take no memory.
  static std::size_t bytes(int ranks);
  /// `pages` is the same memory for all ranks and zero at first.
  NodeRendezvous(SharedMemory pages, int rank, int ranks);

  /// The number of the collective that this rank enters next; the first one has number 1. All ranks
  /// enter the same collectives in the same order.
  std::uint32_t next() const { return seats_[std::size_t(rank_)].entered + 1; }
  /// The memory for a rank's contribution to a collective. The rank may fill it once all ranks have
  /// entered the collective before, and the others may read it once the rank has entered.
  std::span<std::byte> room(int rank, std::uint32_t number) const;
  /// Enters the next collective. Wakes the other ranks if this rank is the last one, or if they may
  /// be waiting for this rank alone (`awaited`).
  void enter(bool awaited);
  bool has_entered(int rank, std::uint32_t number) const;
  bool all_entered(std::uint32_t number) const;

  /// Counters of bell rings. There is one bell for collectives and one per rank, which rings when a
  /// message is sent to it. A rank reads the counter, then looks whether it has to wait, then
  /// sleeps with the counter it read. So it cannot miss a ring that comes after the look.
  std::uint32_t bell() const { return seats_.back().bell; }
  std::uint32_t own_bell() const { return seats_[std::size_t(rank_)].bell; }
  /// Sleeps until the bell rings, `seconds` have passed or a signal arrives. Returns at once if the
  /// counter is no longer `rings_seen`.
  void sleep(std::uint32_t rings_seen, double seconds) const {
    sleep_on(seats_.back().bell, rings_seen, seconds);
  }
  void sleep_on_own(std::uint32_t rings_seen, double seconds) const {
    sleep_on(seats_[std::size_t(rank_)].bell, rings_seen, seconds);
  }
  void ring(int rank) const { ring(seats_[std::size_t(rank)].bell); }

 private:
  /// Each seat has its own cache line. After the seats of the ranks there is one more, whose bell
  /// is that of the collectives.
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> entered, bell;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free,
                "a futex is a plain word of memory");
  static std::size_t rooms_begin(int ranks);
  static void sleep_on(std::atomic<std::uint32_t>& bell, std::uint32_t rings_seen, double seconds);
  static void ring(std::atomic<std::uint32_t>& bell);

  SharedMemory pages_;
  std::span<Seat> seats_;
  std::span<std::byte> rooms_;  ///< [ranks][2][kRoom]: a rank fills one room while others still
                                ///< read that of the previous collective
  int rank_;
};

}  // namespace rollcall::comm
