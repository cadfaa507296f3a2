// Where ranks meet: nobody sleeps through what it waits for. Every sleep here could last so long
// that one that is missed shows.
#include "comm/node_rendezvous.hpp"

#include "base/time/clock.hpp"
#include "comm/shared_pages.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace rollcall::comm {
namespace {

constexpr double kLong_s = 20.0;

void await_all(const NodeRendezvous& meeting, std::uint32_t number) {
  for (;;) {
    const std::uint32_t heard = meeting.bell();
    if (meeting.all_entered(number)) return;
    meeting.sleep(heard, kLong_s);
  }
}

/// Each brings a number to every collective and adds up what all have brought; how many sums were
/// wrong.
int wrong_sums(NodeRendezvous& meeting, int rank, int ranks, std::uint32_t collectives) {
  int wrong = 0;
  for (std::uint32_t turn = 0; turn < collectives; ++turn) {
    const std::uint32_t number = meeting.next();
    await_all(meeting, number - 1);
    const std::uint64_t own = std::uint64_t(rank + 1) * (turn + 1);
    std::memcpy(meeting.room(rank, number).data(), &own, sizeof own);
    meeting.enter(false);
    await_all(meeting, number);
    std::uint64_t sum = 0;
    for (int other = 0; other < ranks; ++other) {
      std::uint64_t theirs = 0;
      std::memcpy(&theirs, meeting.room(other, number).data(), sizeof theirs);
      sum += theirs;
    }
    wrong += sum != std::uint64_t(ranks) * std::uint64_t(ranks + 1) / 2 * (turn + 1);
  }
  return wrong;
}

TEST(NodeRendezvous, WhoComesLastWakesAllOthers) {
  for (const std::uint32_t entered : {0U, 0xFFFFFF00U}) {  // the count may wrap
    constexpr int kRanks = 5;
    const SharedMemory pages = map_pages(NodeRendezvous::bytes(kRanks));
    for (int rank = 0; rank < kRanks; ++rank)
      std::memcpy(pages.bytes.data() + rank * 64, &entered, sizeof entered);
    std::atomic<int> wrong = 0;
    const Stopwatch clock;
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        NodeRendezvous meeting(pages, rank, kRanks);
        wrong += wrong_sums(meeting, rank, kRanks, 3000);
      });
    }
    for (auto& rank : ranks) rank.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_LT(clock.seconds(), kLong_s);
  }
}

TEST(NodeRendezvous, ProcessesWakeEachOther) {
  const SharedPages file(NodeRendezvous::bytes(2));
  const Stopwatch clock;
  const pid_t child = ::fork();
  NodeRendezvous meeting(map_pages(NodeRendezvous::bytes(2), file.file()), child == 0 ? 1 : 0, 2);
  const int wrong = wrong_sums(meeting, child == 0 ? 1 : 0, 2, 3000);
  if (child == 0) ::_exit(wrong == 0 ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_LT(clock.seconds(), kLong_s);
}

TEST(NodeRendezvous, OneThatIsWaitedForAloneWakesTheOthers) {
  const SharedMemory pages = map_pages(NodeRendezvous::bytes(3));
  const Stopwatch clock;
  std::thread waits([&] {
    NodeRendezvous meeting(pages, 1, 3);
    meeting.enter(false);
    for (std::uint32_t heard = meeting.bell(); !meeting.has_entered(0, 1); heard = meeting.bell())
      meeting.sleep(heard, kLong_s);
  });
  NodeRendezvous root(pages, 0, 3);
  while (!root.has_entered(1, 1)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  root.enter(true);  // rank 2 never comes
  waits.join();
  EXPECT_FALSE(root.all_entered(1));
  EXPECT_LT(clock.seconds(), kLong_s);
}

TEST(NodeRendezvous, AMessageRingsItsReceiversBellAlone) {
  const SharedMemory pages = map_pages(NodeRendezvous::bytes(2));
  const NodeRendezvous sender(pages, 0, 2), receiver(pages, 1, 2);
  const Stopwatch clock;
  const std::uint32_t heard = receiver.own_bell(), others = sender.own_bell();
  sender.ring(1);
  receiver.sleep_on_own(heard, kLong_s);  // it came before the sleep
  std::thread sleeps([&] { receiver.sleep_on_own(receiver.own_bell(), kLong_s); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  sender.ring(1);
  sleeps.join();
  EXPECT_LT(clock.seconds(), kLong_s);
  EXPECT_EQ(sender.own_bell(), others);
  sender.sleep_on_own(others, 0.01);  // and a sleep without a bell ends
}

}  // namespace
}  // namespace rollcall::comm
