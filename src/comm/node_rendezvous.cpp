// Counters, futexes and rooms in memory that several processes have mapped.
#include "comm/node_rendezvous.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <utility>

namespace rollcall::comm {

std::size_t NodeRendezvous::rooms_begin(int ranks) {
  constexpr std::size_t kPage = 4096;
  return ((std::size_t(ranks) + 1) * sizeof(Seat) + kPage - 1) / kPage * kPage;
}

std::size_t NodeRendezvous::bytes(int ranks) {
  return rooms_begin(ranks) + std::size_t(ranks) * 2 * kRoom;
}

NodeRendezvous::NodeRendezvous(SharedMemory pages, int rank, int ranks)
    : pages_(std::move(pages)),
      seats_(pages_.view<Seat>(0, std::size_t(ranks) + 1)),
      rooms_(pages_.bytes.subspan(rooms_begin(ranks))),
      rank_(rank) {
  ::madvise(pages_.bytes.data(), pages_.bytes.size(),
            MADV_NOHUGEPAGE);  // rooms are hardly ever full, and a huge page would be used as a
                               // whole
}

std::span<std::byte> NodeRendezvous::room(int rank, std::uint32_t number) const {
  return rooms_.subspan((std::size_t(rank) * 2 + number % 2) * kRoom, kRoom);
}

// All accesses are sequentially consistent, so if two ranks enter last at the same time, at least
// one of them sees that all ranks have entered.
void NodeRendezvous::enter(bool awaited) {
  const std::uint32_t number = seats_[std::size_t(rank_)].entered += 1;
  if (awaited || all_entered(number)) ring(seats_.back().bell);
}

bool NodeRendezvous::has_entered(int rank, std::uint32_t number) const {
  // correct even if the count wraps
  return std::int32_t(seats_[std::size_t(rank)].entered - number) >= 0;
}

bool NodeRendezvous::all_entered(std::uint32_t number) const {
  for (int rank = 0; rank + 1 < int(seats_.size()); ++rank)
    if (!has_entered(rank, number)) return false;
  return true;
}

// FUTEX_PRIVATE would not work, because the word belongs to several processes. It does not matter
// what ends the sleep, because the caller looks again.
void NodeRendezvous::sleep_on(std::atomic<std::uint32_t>& bell, std::uint32_t rings_seen,
                              double seconds) {
  const double whole = std::floor(seconds);
  const timespec longest{time_t(whole), long((seconds - whole) * 1e9)};
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell), FUTEX_WAIT, rings_seen, &longest,
            nullptr, 0);
}

void NodeRendezvous::ring(std::atomic<std::uint32_t>& bell) {
  bell += 1;
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&bell), FUTEX_WAKE, INT_MAX, nullptr,
            nullptr, 0);
}

}  // namespace rollcall::comm
