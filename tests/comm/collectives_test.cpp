// Collectives against plain loops, and groups.
#include "comm/world.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

namespace rollcall::comm {
namespace {

std::vector<std::int64_t> addends(int rank, std::size_t count) {
  const RandomStream random(3, RandomPurpose::test, std::uint64_t(rank));
  std::vector<std::int64_t> values(count);
  // four ranks cannot overflow
  for (std::size_t i = 0; i < count; ++i) values[i] = std::int64_t(random.bits(i)) >> 4;
  return values;
}

TEST(Collectives, SumIsExactForEverySize) {
  in_world([](Communicator& world) {
    // across the 4 MiB parts of the MPI version
    for (const std::size_t count : {0, 1, 7, 1000, 524288, 524289}) {
      std::vector<std::int64_t> expected(count, 0);
      for (int r = 0; r < world.size(); ++r) {
        const auto other = addends(r, count);
        for (std::size_t i = 0; i < count; ++i) expected[i] += other[i];
      }
      auto values = addends(world.rank(), count);
      world.sum(values);
      EXPECT_EQ(values, expected) << count;
    }
  });
}

TEST(Collectives, Maximum) {
  in_world([](Communicator& world) {
    std::vector<double> values{double(world.rank()), -double(world.rank()) - 1.5,
                               world.rank() == 0 ? std::numeric_limits<double>::infinity() : 0.0};
    world.maximum(values);
    EXPECT_EQ(values, (std::vector<double>{double(world.size() - 1), -1.5,
                                           std::numeric_limits<double>::infinity()}));
  });
}

TEST(Collectives, BroadcastFromEveryRoot) {
  in_world([](Communicator& world) {
    for (int root = 0; root < world.size(); ++root) {
      for (const std::size_t count : {0u, 3u, 600000u}) {
        auto values = addends(world.rank(), count);
        world.broadcast(std::as_writable_bytes(std::span(values)), root);
        EXPECT_EQ(values, addends(root, count));
      }
    }
  });
}

/// Cuts of a buffer of `count` elements into a share for each rank: equal ones, all to one rank, or
/// growing ones with an empty first.
std::vector<std::vector<std::int64_t>> cuts(std::int64_t count, int ranks) {
  std::vector<std::vector<std::int64_t>> all(3);
  for (int r = 0; r <= ranks; ++r) {
    all[0].push_back(count * r / ranks);
    all[1].push_back(r < ranks ? 0 : count);
    all[2].push_back(count * r * r / (ranks * ranks) / (r == 1 && ranks > 1 ? count + 1 : 1));
  }
  return all;
}

TEST(Collectives, SumToSharesAgreesWithSum) {
  in_world([](Communicator& world) {
    for (const std::size_t count : {0, 1, 7, 1000, 524288, 1300001}) {
      auto expected = addends(world.rank(), count);
      world.sum(expected);
      for (const auto& begins : cuts(std::int64_t(count), world.size())) {
        auto values = addends(world.rank(), count);
        world.sum_to_shares(values, begins);
        const auto begin = begins[std::size_t(world.rank())],
                   end = begins[std::size_t(world.rank()) + 1];
        EXPECT_TRUE(
            std::equal(values.begin() + begin, values.begin() + end, expected.begin() + begin))
            << count;
      }
    }
  });
}

TEST(Collectives, GatherSharesGivesAllOfThemToAll) {
  in_world([](Communicator& world) {
    for (const std::size_t count : {0, 1, 7, 1000, 1048576, 2600001}) {
      for (const auto& begins : cuts(std::int64_t(count), world.size())) {
        std::vector<float> values(count, -1.0F), expected(count);
        for (int r = 0; r < world.size(); ++r)
          for (std::int64_t i = begins[std::size_t(r)]; i < begins[std::size_t(r) + 1]; ++i) {
            expected[std::size_t(i)] = float(i % 100'003 + r);
            if (r == world.rank()) values[std::size_t(i)] = expected[std::size_t(i)];
          }
        world.gather_shares(values, begins);
        EXPECT_TRUE(values == expected) << count;
      }
    }
  });
}

TEST(Collectives, GatherAllKeepsRaggedSizesAndRankOrder) {
  in_world([](Communicator& world) {
    // 248 bytes travel with the length
    for (const int scale : {0, 1, 124, 247, 248, 249, 997, 70000}) {
      // rank 0 is empty
      const auto own = [&](int rank) {
        return std::string(std::size_t(rank * scale), char('a' + rank));
      };
      const auto all = world.gather_all(own(world.rank()));
      EXPECT_EQ(int(all.size()), world.size());
      for (int r = 0; r < int(all.size()); ++r) EXPECT_EQ(all[std::size_t(r)], own(r));
    }
  });
}

TEST(Collectives, GatherAllTakesMoreThanARoundHolds) {
  in_world([](Communicator& world) {
    const auto own = [&](int rank) {
      std::string bytes(std::size_t(rank == 1 ? 70'000'001 : 3), '\0');
      for (std::size_t i = 0; i < bytes.size(); i += 4093)
        bytes[i] = char(i / 4093 + std::size_t(rank));
      return bytes;
    };
    const auto all = world.gather_all(own(world.rank()));
    for (int r = 0; r < world.size(); ++r) EXPECT_TRUE(all[std::size_t(r)] == own(r)) << r;
  });
}

/// Whoever gives goes ahead of those that take, as far as it may; nobody finds what belongs to
/// another collective.
TEST(Collectives, ManyBehindEachOtherKeepApart) {
  in_world([](Communicator& world) {
    const RandomStream random(5, RandomPurpose::test);  // the same on all ranks
    const auto text = [](int from, std::uint64_t turn, std::size_t bytes) {
      return std::string(bytes, char('a' + (std::uint64_t(from) * 7 + turn) % 23));
    };
    int wrong = 0;
    for (std::uint64_t turn = 0; turn < 2000; ++turn) {
      const int root = int(random.below(3 * turn, std::uint64_t(world.size())));
      // some do not fit where ranks meet
      const auto bytes = std::size_t(random.below(3 * turn + 1, turn % 50 == 0 ? 1'500'000 : 300));
      if (turn % 97 == std::uint64_t(world.rank()))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      switch (random.below(3 * turn + 2, 6)) {
        case 0: {
          std::string own = text(world.rank(), turn, bytes);
          world.broadcast(std::as_writable_bytes(std::span(own)), root);
          wrong += own != text(root, turn, bytes);
          break;
        }
        case 1: {
          const auto all =
              world.gather(text(world.rank(), turn, bytes + std::size_t(world.rank())), root);
          for (int from = 0; from < int(all.size()); ++from)
            wrong += all[std::size_t(from)] != text(from, turn, bytes + std::size_t(from));
          break;
        }
        case 2: {
          const auto all =
              world.gather_all(text(world.rank(), turn, bytes * std::size_t(world.rank() % 2)));
          for (int from = 0; from < world.size(); ++from)
            wrong += all[std::size_t(from)] != text(from, turn, bytes * std::size_t(from % 2));
          break;
        }
        case 3: {
          std::vector<std::string> parts;
          for (int to = 0; to < (world.rank() == root ? world.size() : 0); ++to)
            parts.push_back(text(to, turn, bytes / 2 + std::size_t(to)));
          wrong += world.scatter(parts, root) !=
                   text(world.rank(), turn, bytes / 2 + std::size_t(world.rank()));
          break;
        }
        case 4: {
          std::vector<std::int64_t> values(bytes / 100, world.rank() + std::int64_t(turn));
          world.sum(values);
          for (const auto value : values)
            wrong +=
                value != std::int64_t(turn) * world.size() + world.size() * (world.size() - 1) / 2;
          break;
        }
        default: world.barrier();
      }
    }
    EXPECT_EQ(wrong, 0);
  });
}

TEST(Collectives, SpreadGivesAllWhatTheRootHasWhateverTheyBring) {
  in_world([](Communicator& world) {
    for (int root = 0; root < world.size(); ++root) {
      for (const std::size_t size : {0U, 1U, 5000U, 2'000'000U, 9'000'001U}) {
        const auto of = [&](int rank) {
          return std::string(size / std::size_t(rank + 1), char('a' + rank));
        };
        EXPECT_TRUE(spread(world, of(world.rank()), root) == of(root)) << size << " from " << root;
      }
    }
  });
}

TEST(Collectives, GatherAndScatterGoBetweenOneRankAndTheOthers) {
  in_world([](Communicator& world) {
    const auto of = [](int from, int to, std::size_t scale) {
      std::string bytes(std::size_t(from + 2 * to) * scale, '\0');
      for (std::size_t i = 0; i < bytes.size(); i += 1 + i / 997)
        bytes[i] = char(i + std::size_t(from + 5 * to));
      return bytes;
    };
    for (int root = 0; root < world.size(); ++root) {
      // rank 0 sends itself nothing; the last of these takes several rounds
      for (const std::size_t scale : {0U, 1U, 997U, 70000U, 9'000'001U}) {
        if (scale > 1'000'000U && (root != 1 || world.size() > 3)) continue;
        const auto all = world.gather(of(world.rank(), root, scale), root);
        EXPECT_EQ(int(all.size()), world.rank() == root ? world.size() : 0);
        for (int from = 0; from < int(all.size()); ++from)
          EXPECT_TRUE(all[std::size_t(from)] == of(from, root, scale)) << from << " of " << scale;
        std::vector<std::string> parts;
        for (int to = 0; to < (world.rank() == root ? world.size() : 0); ++to)
          parts.push_back(of(root, to, scale));
        EXPECT_TRUE(world.scatter(parts, root) == of(root, world.rank(), scale))
            << "from " << root << " of " << scale;
      }
    }
  });
}

TEST(Collectives, BarrierHoldsUntilTheLastCame) {
  in_world([](Communicator& world) {
    world.barrier();
    const double before = world.waited_s();
    if (world.rank() == world.size() - 1) {
      EXPECT_THROW(receive(world, 0.1, "nothing"), ProtocolError);  // comes late
    }
    world.barrier();
    EXPECT_GT(world.waited_s() - before, world.size() > 1 ? 0.09 : -1.0);
  });
}

TEST(Collectives, SplitMakesGroupsByColorInRankOrder) {
  in_world([](Communicator& world) {
    const int color = world.rank() == 0 ? -1 : world.rank() % 2;
    const auto group = world.split(color);
    EXPECT_EQ(group == nullptr, world.rank() == 0);
    if (group) {
      std::vector<std::int64_t> members;
      for (int r = 1; r < world.size(); ++r) {
        if (r % 2 == color) members.push_back(r);
      }
      EXPECT_EQ(group->size(), int(members.size()));
      EXPECT_EQ(members[std::size_t(group->rank())], world.rank());
      std::vector<std::int64_t> one{world.rank()};
      group->sum(one);
      EXPECT_EQ(one[0], std::accumulate(members.begin(), members.end(), std::int64_t{0}));
    }
    world.barrier();
  });
}

TEST(Collectives, NodeHoldsAllRanksOfThisTest) {
  in_world([](Communicator& world) { EXPECT_EQ(world.split_by_host()->size(), world.size()); });
  EXPECT_GE(cores_available(), 1);
  EXPECT_GT(memory_available(), std::uint64_t(1) << 20);
  EXPECT_LT(memory_available(), std::uint64_t(1) << 50);
  in_world([](Communicator& world) {
    const auto node = world.split_by_node();
    const auto share = node_share(world, *node);
    EXPECT_EQ(share.nodes, std::vector<int>(std::size_t(world.size()), 0));
    EXPECT_EQ(int(share.memory.size()), world.size());
    for (const auto bytes : share.memory)
      EXPECT_TRUE(bytes > (1U << 20) &&
                  bytes <= 2 * memory_available() / std::uint64_t(world.size()))
          << bytes;
  });
}

}  // namespace
}  // namespace rollcall::comm
