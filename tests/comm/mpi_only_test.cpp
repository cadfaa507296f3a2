// What only MPI can show: errors with the failing call named, and a collective that misses a rank.
#include "comm/mpi_communicator.hpp"
#include "comm/world.hpp"

#include "base/errors/error.hpp"
#include "support/allocated_bytes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rollcall::comm {
namespace {

/// Rank 0 gives up a barrier of `twin`, which has the ranks of `world`; the others come later.
void expect_named(Communicator& world, Communicator& twin, const std::string& call) {
  const bool first = world.rank() == 0 && world.size() > 1;
  const double deadline_s = twin.collective_deadline_s();
  if (first) {
    twin.set_collective_deadline(0.05);
    try {
      twin.barrier();
      ADD_FAILURE() << "the others have not come";
    } catch (const ProtocolError& error) {
      EXPECT_EQ(std::string(error.what())
                    .rfind("rank 0 of " + std::to_string(world.size()) + " waited 0.05", 0),
                0u)
          << error.what();
      EXPECT_NE(std::string(error.what()).find(" s in " + call + " ("), std::string::npos)
          << error.what();
    }
    twin.set_collective_deadline(deadline_s);
  }
  world.barrier();
  if (!first) twin.barrier();  // matches the one that rank 0 gave up
  world.barrier();
}

TEST(Mpi, DeadlineNamesTheCall) {
  over_mpi([](Communicator& world) { expect_named(world, *world.split(0), "MPI_Ibarrier"); });
}

TEST(Mpi, SoItDoesWhereRanksMeetWhichThenGoOn) {
  over_mpi([](Communicator& world) {
    const auto node = world.split_by_node(), twin = world.split(0);
    expect_named(world, *twin, "a barrier");
    EXPECT_EQ(twin->gather_all(std::to_string(world.rank())).back(),
              std::to_string(world.size() - 1));
  });
}

/// A copy for each receiver would be 10^5 times a plan in the largest jobs.
TEST(Mpi, ReceiversShareOneCopyOfWhatIsSentToAll) {
  over_mpi([](Communicator& world) {
    constexpr int kLetters = 8;  // to each of the others
    const std::string bytes(1 << 20, 'b');
    std::vector<int> others;
    for (int i = 0; world.rank() == 0 && i < kLetters; ++i)
      for (int to = 1; to < world.size(); ++to) others.push_back(to);
    const std::size_t before = test::allocated_bytes();
    world.send_all(others, 1, bytes);
    const std::size_t taken = test::allocated_bytes() - before;
    EXPECT_GE(taken, bytes.size());
    EXPECT_LT(taken, 2 * bytes.size()) << others.size() << " receivers";
    for (int i = 0; world.rank() > 0 && i < kLetters; ++i)
      EXPECT_TRUE(receive(world, 30, "a letter").bytes == bytes);
    world.barrier();
  });
}

/// Who has been woken for a message would sleep again if its first look missed it.
TEST(Mpi, WhatHasComeIsSeenAtTheFirstLook) {
  over_mpi([](Communicator& world) {
    const auto node = world.split_by_node();
    if (node->size() == 1) return;  // who sends to itself has no need of MPI
    constexpr int kRounds = 20;
    int seen_at_once = 0;
    for (int round = 0; round < kRounds; ++round) {
      node->send((node->rank() + 1) % node->size(), 1, std::to_string(round));
      node->barrier();  // ranks of a node meet in memory, without a look at messages
      const auto seen = node->try_receive();
      seen_at_once += seen ? 1 : 0;
      EXPECT_EQ(seen ? seen->bytes : receive(*node, 10.0, "what the first look has missed").bytes,
                std::to_string(round));
    }
    EXPECT_GT(seen_at_once, kRounds * 3 / 4);  // a single look finds fewer than half; MPI promises
                                               // nothing
  });
}

TEST(Mpi, ErrorsAreExceptionsThatNameTheCall) {
  over_mpi([](Communicator& world) {
    std::vector<std::byte> bytes(8);
    try {
      world.broadcast(bytes, world.size() + 3);
      ADD_FAILURE() << "there is no such root";
    } catch (const ProtocolError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("MPI_Ibcast failed (", 0), 0u) << error.what();
    }
    world.barrier();
  });
}

TEST(Mpi, AMessageBeyondIntIsRefused) {
  require_one_message(2147483647u, "a message");
  EXPECT_THROW(require_one_message(2147483648u, "a message"), ProtocolError);
}

}  // namespace
}  // namespace rollcall::comm
