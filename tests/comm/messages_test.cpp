// Point-to-point messages: order, size, fairness to oneself, deadlines.
#include "comm/world.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "base/numbers/random.hpp"
#include "base/time/clock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

namespace rollcall::comm {
namespace {

/// Message `i` from `source` to `destination`: empty, one byte, control size, and beyond MPI's
/// eager limits.
std::string letter(int source, int destination, int i) {
  const RandomStream random(7, RandomPurpose::test, std::uint64_t(source),
                            std::uint64_t(destination), std::uint64_t(i));
  constexpr std::array<std::size_t, 5> largest{0, 1, 100, 5000, 200000};
  std::string bytes(largest[std::size_t(i) % largest.size()], '\0');
  for (std::size_t k = 0; k < bytes.size(); k += 8) {
    const std::uint64_t word = random.bits(k);
    std::memcpy(&bytes[k], &word, std::min<std::size_t>(8, bytes.size() - k));
  }
  return bytes;
}

TEST(Messages, AllToAllArrivesOnceInOrderAndUnchanged) {
  in_world([](Communicator& world) {
    constexpr int kLetters = 40;
    for (int i = 0; i < kLetters; ++i) {
      for (int to = 0; to < world.size(); ++to) world.send(to, i % 7, letter(world.rank(), to, i));
    }
    std::map<int, int> seen;
    for (int n = 0; n < kLetters * world.size(); ++n) {
      const Envelope envelope = receive(world, 30, "a letter");
      const int i = seen[envelope.source]++;
      EXPECT_EQ(envelope.tag, i % 7);
      EXPECT_EQ(envelope.bytes, letter(envelope.source, world.rank(), i))
          << "letter " << i << " from " << envelope.source;
    }
    for (int from = 0; from < world.size(); ++from) EXPECT_EQ(seen[from], kLetters);
    world.barrier();
    EXPECT_FALSE(world.try_receive().has_value());
  });
}

/// A token of random walk length wanders; every hop hashes the text, and the plain loop gives the
/// same text.
TEST(Messages, RandomTrafficEqualsThePlainLoop) {
  in_world([](Communicator& world) {
    constexpr int kHops = 300, kHop = 1, kStop = 2;
    const RandomStream random(11, RandomPurpose::test);
    const auto place = [&](int hop) {
      return int(random.below(std::uint64_t(hop), std::uint64_t(world.size())));
    };
    const auto step = [](const std::string& text, int hop, int rank) {
      return text + hex64(checksum64(fmt::format("{} {} {}", text.size(), hop, rank)));
    };
    std::string expected;
    for (int hop = 0; hop < kHops; ++hop) expected = step(expected, hop, place(hop));
    if (world.rank() == 0) world.send(place(0), kHop, "");
    for (;;) {
      Envelope envelope = receive(world, 30, "the token");
      const int hop = int(envelope.bytes.size() / 16);
      if (envelope.tag == kStop) {
        EXPECT_EQ(envelope.bytes, expected);
        break;
      }
      std::string next = step(envelope.bytes, hop, world.rank());
      const bool last = hop + 1 == kHops;
      if (!last) world.send(place(hop + 1), kHop, next);
      for (int to = 0; last && to < world.size(); ++to) world.send(to, kStop, next);
    }
  });
}

TEST(Messages, DeadlineNamesRankWaitAndTime) {
  in_world([](Communicator& world) {
    int idle = 0;
    const double before = world.waited_s();
    try {
      receive(world, 0.05, "the plan of step 3", [&] { ++idle; });
      ADD_FAILURE() << "nothing was sent";
    } catch (const ProtocolError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.rfind(fmt::format("rank {} waited 0.0", world.rank()), 0), 0u) << text;
      EXPECT_NE(text.find(" s for the plan of step 3 ("), std::string::npos) << text;
    }
    EXPECT_GT(idle, 10);
    EXPECT_GE(world.waited_s() - before, 0.05);
    world.barrier();
  });
}

/// Verdicts that threads of the rank make, for example.
TEST(Messages, TheDeadlineBeginsAnewWhileOwnThreadsGetOn) {
  in_world([](Communicator& world) {
    const Stopwatch clock;
    std::jthread verdicts([activity = world.roll()->activity](const std::stop_token& stop) {
      for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(5)))
        activity->progressed();
    });
    world.wait([&] { return clock.seconds() > 1.0; }, 0.25, "the last verdict");
    verdicts.request_stop();
    verdicts.join();
    EXPECT_THROW(world.wait([] { return false; }, 0.05, "a verdict that nobody makes"),
                 ProtocolError);
    world.barrier();
  });
}

/// In a group ranks have other numbers, but logs, nodes and roll calls know those of the world.
TEST(Messages, AGroupsDeadlineNamesTheRankOfTheWorld) {
  in_world([](Communicator& world) {
    const auto odd = world.split(world.rank() % 2);
    const auto own = odd->split(0);
    EXPECT_EQ(own->roll()->world_rank, world.rank());
    try {
      receive(*own, 0.01, "nothing");
      ADD_FAILURE() << "nothing was sent";
    } catch (const ProtocolError& error) {
      EXPECT_EQ(std::string(error.what()).rfind(fmt::format("rank {} waited ", world.rank()), 0),
                0u)
          << error.what();
    }
    world.barrier();
  });
}

TEST(Messages, WaitingForALateOneIsCounted) {
  in_world([](Communicator& world) {
    world.barrier();
    // long beside what a busy machine keeps a thread from its wait
    if (world.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const double before = world.waited_s();
    for (int to = 0; world.rank() == 0 && to < world.size(); ++to) world.send(to, 1, "late");
    receive(world, 30, "the late one");
    EXPECT_GE(world.waited_s() - before, world.rank() == 0 ? 0.0 : 0.1);
    world.barrier();
  });
}

TEST(Messages, GroupsHaveTheirOwnMessageSpace) {
  in_world([](Communicator& world) {
    const auto twin = world.split(0);
    const int next = (world.rank() + 1) % world.size();
    world.send(next, 1, "world");
    twin->send(next, 1, "twin");
    EXPECT_EQ(receive(*twin, 30, "twin").bytes, "twin");
    EXPECT_EQ(receive(world, 30, "world").bytes, "world");
  });
}

/// Rank 0 writes to all, itself and one of them twice included, between letters to each alone.
TEST(Messages, WhatGoesToSeveralArrivesAsIfSentToEach) {
  in_world([](Communicator& world) {
    for (const std::size_t size : {0U, 100U, 300'000U}) {
      const std::string bytes(size, 'b');
      std::vector<int> all;
      for (int to = 0; world.rank() == 0 && to < world.size(); ++to) all.push_back(to);
      if (world.rank() == 0) all.push_back(world.size() - 1);
      for (const int to : all) world.send(to, 1, "before");
      world.send_all(all, 2, bytes);
      for (const int to : all) world.send(to, 3, "behind");
      const int copies = world.rank() == world.size() - 1 ? 2 : 1;
      for (const auto& [tag, text] :
           std::map<int, std::string>{{1, "before"}, {2, bytes}, {3, "behind"}}) {
        for (int i = 0; i < copies; ++i) {
          const Envelope envelope = receive(world, 30, "a letter");
          EXPECT_EQ(envelope.source, 0);
          EXPECT_EQ(envelope.tag, tag);
          EXPECT_TRUE(envelope.bytes == text) << size;
        }
      }
      world.barrier();
      EXPECT_FALSE(world.try_receive().has_value());
      world.barrier();  // before rank 0 writes the next letters
    }
  });
}

TEST(Messages, WrongDestinationOrTagIsRefused) {
  in_world([](Communicator& world) {
    EXPECT_THROW(world.send_all(std::array{world.size()}, 1, "x"), std::logic_error);
    EXPECT_THROW(world.send(world.size(), 1, "x"), std::logic_error);
    EXPECT_THROW(world.send(-1, 1, "x"), std::logic_error);
    EXPECT_THROW(world.send(0, -1, "x"), std::logic_error);
  });
}

TEST(Messages, LastMessagesArriveAlthoughTheSenderIsGone) {
  in_world([](Communicator& world) {
    const auto twin = world.split(0);
    // the destructor waits for it
    if (world.rank() != 0) return twin->send(0, 5, std::string(300000, 'z'));
    for (int n = 1; n < world.size(); ++n)
      EXPECT_EQ(receive(*twin, 30, "a farewell").bytes.size(), 300000u);
  });
}

}  // namespace
}  // namespace rollcall::comm
