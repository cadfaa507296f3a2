// Where ranks of a node meet: memory that they share, in which they find what each has brought to a
// collective, and in which who comes last wakes those that sleep. Without it a rank that waits has
// to look, and looks take time from ranks that compute on the same cores. Private to comm.
#pragma once

#include "core/shared_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rollcall::comm {

class Communicator;
int cores_together(Communicator& ranks);  ///< of ranks of a node: cores that any of them may use.
                                          ///< Collective

class NodeRendezvous {
 public:
  static constexpr std::size_t kRoom =
      std::size_t{1} << 20;  ///< bytes that a rank may bring; pages that nobody uses take no memory
  static std::size_t bytes(int ranks);
  /// `pages`: the same for all of them, zero at first.
  NodeRendezvous(SharedMemory pages, int rank, int ranks);

  /// Of the collective that this rank enters next; the first one has 1. All ranks enter the same
  /// ones, in the same order.
  std::uint32_t next() const { return seats_[std::size_t(rank_)].entered + 1; }
  /// What a rank brings to a collective. It may be filled once all have entered the one before, and
  /// be read from the moment its rank has entered.
  std::span<std::byte> room(int rank, std::uint32_t number) const;
  /// Enters the next one. Wakes the others if this rank is the last, and in any case if they may
  /// wait for it alone (`awaited`).
  void enter(bool awaited);
  bool has_entered(int rank, std::uint32_t number) const;
  bool all_entered(std::uint32_t number) const;

  /// How often the bell of the collectives has rung, and the one of this rank, by which it hears of
  /// messages. Taken before a look at what is waited for, it keeps a sleep from missing what comes
  /// behind the look.
  std::uint32_t bell() const { return seats_.back().bell; }
  std::uint32_t own_bell() const { return seats_[std::size_t(rank_)].bell; }
  /// Until the bell rings, or has rung since it was `heard`, or `seconds` have passed, or a signal
  /// comes.
  void sleep(std::uint32_t heard, double seconds) const {
    sleep_on(seats_.back().bell, heard, seconds);
  }
  void sleep_on_own(std::uint32_t heard, double seconds) const {
    sleep_on(seats_[std::size_t(rank_)].bell, heard, seconds);
  }
  void ring(int rank) const { ring(seats_[std::size_t(rank)].bell); }

 private:
  /// In a cache line of its own. Behind the ranks' there is one whose bell is that of the
  /// collectives.
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> entered, bell;
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free,
                "a futex is a plain word of memory");
  static std::size_t rooms_begin(int ranks);
  static void sleep_on(std::atomic<std::uint32_t>& bell, std::uint32_t heard, double seconds);
  static void ring(std::atomic<std::uint32_t>& bell);

  SharedMemory pages_;
  std::span<Seat> seats_;
  std::span<std::byte> rooms_;  ///< [ranks][2][kRoom]: one fills while others still read what was
                                ///< brought before
  int rank_;
};

}  // namespace rollcall::comm
