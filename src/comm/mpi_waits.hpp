// How a rank waits for other ranks over MPI: asleep if they can wake it, otherwise by polling.
// Private to comm.
#pragma once

#include "comm/communicator.hpp"
#include "comm/mpi_calls.hpp"
#include "comm/node_rendezvous.hpp"
#include "comm/roll_call.hpp"

#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace rollcall::comm {

/// The waits of one rank in one MPI communicator. No call blocks inside the library, where Open MPI
/// would spin: every wait is a non-blocking operation, MPI_Test and Backoff. If all ranks are on
/// one node and have met (NodeRendezvous), a waiting rank sleeps until it is woken instead.
class MpiWaits {
 public:
  /// `times` belongs to the communicator and must outlive this object.
  MpiWaits(MPI_Comm comm, std::shared_ptr<RollCall> roll, WaitTimes& times);
  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm comm() const { return comm_; }
  RollCall& roll() const { return *roll_; }
  /// The rendezvous of the ranks; nullptr before meet() was called.
  NodeRendezvous* met() { return meeting_ ? &*meeting_ : nullptr; }
  /// From now on the ranks meet in these pages, which all of them see.
  void meet(SharedMemory pages) { meeting_.emplace(std::move(pages), rank_, size_); }
  /// Whether the node has fewer cores than ranks, so a waiting rank gives up its core at once.
  bool crowded() const { return crowded_; }
  void set_crowded(bool crowded) { crowded_ = crowded; }

  /// Posts a non-blocking collective and sleeps until it is done. `root` is set if the others may
  /// be waiting for the entry of that one rank alone, as in a broadcast.
  template <class Post>
  void complete(const char* call, Post post, std::optional<int> root = {});
  /// Sleeps until all requests are done. While `early` returns true, the requests cannot be done,
  /// because other ranks have not entered, so the rank may sleep until another rank wakes it.
  void complete_all(const char* call, std::span<MPI_Request> requests,
                    const std::function<bool()>& early);
  void await_all(const char* what, std::uint32_t number);  ///< sleeps until all ranks have entered
                                                           ///< collective `number`
  void await_rank(const char* what, int rank, std::uint32_t number);
  /// Enters the next collective, after `fill` has written this rank's contribution into its room of
  /// the shared memory. `awaited` is passed to NodeRendezvous::enter(). Returns the number of the
  /// collective.
  template <class Fill>
  std::uint32_t bring(const char* what, bool awaited, Fill fill);
  /// Merges the values of all ranks through shared memory. Returns false if they have to travel by
  /// MPI.
  template <class T, class Merge>
  bool merge_where_met(const char* what, std::span<T> values, Merge merge);

  /// Called before a look for messages, so that the next pause does not miss one that comes later.
  void note_own_bell() {
    if (meeting_) rings_seen_ = meeting_->own_bell();
  }
  /// A pause for Messages: ends early when a message is sent to this rank.
  void pause(double seconds);

 private:
  void wait_in(const char* call, const std::function<bool()>& done,
               const std::function<bool()>& early);
  void await(const char* what, const std::function<bool()>& come);
  double longest_sleep(double seconds) const;

  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::shared_ptr<RollCall> roll_;
  WaitTimes* times_;
  std::optional<NodeRendezvous> meeting_;
  bool crowded_ = false;
  std::uint32_t rings_seen_ = 0;  ///< count of this rank's own bell before the last look for
                                  ///< messages
};

template <class Post>
void MpiWaits::complete(const char* call, Post post, std::optional<int> root) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(post(&request), call);
  if (!meeting_) return complete_all(call, std::span(&request, 1), [] { return false; });
  const std::uint32_t number = meeting_->next();
  meeting_->enter(root == rank_);
  // A long message may need its root to call MPI again, so once the root has entered, a rank polls
  // instead of sleeping.
  const auto early = [&] {
    return !meeting_->all_entered(number) && !(root && meeting_->has_entered(*root, number));
  };
  complete_all(call, std::span(&request, 1), early);
}

template <class Fill>
std::uint32_t MpiWaits::bring(const char* what, bool awaited, Fill fill) {
  const std::uint32_t number = meeting_->next();
  await_all(what, number - 1);
  fill(meeting_->room(rank_, number));
  meeting_->enter(awaited);
  return number;
}

template <class T, class Merge>
bool MpiWaits::merge_where_met(const char* what, std::span<T> values, Merge merge) {
  constexpr std::size_t kLimitBytes = 4096;  // bytes; every rank reads the values of all ranks
  if (!meeting_ || values.size_bytes() > kLimitBytes) return false;
  const std::uint32_t number = bring(what, false, [&](std::span<std::byte> room) {
    std::memcpy(room.data(), values.data(), values.size_bytes());
  });
  await_all(what, number);
  for (int rank = 0; rank < size_; ++rank) {
    const T* theirs = reinterpret_cast<const T*>(meeting_->room(rank, number).data());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = rank == 0 ? theirs[i] : merge(values[i], theirs[i]);
  }
  return true;
}

}  // namespace rollcall::comm
