// Where ranks are and what they are bound to.
#include "comm/world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace rollcall::comm {
namespace {

TEST(Node, NumbersBecomeRanges) {
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({7}), "7");
  EXPECT_EQ(number_ranges({0, 1, 2, 5, 8, 9}), "0-2,5,8-9");
}

/// All ranks are on this host with one mask, so the map is one line with one range.
TEST(Node, RanksWithOneMaskAreOneRange) {
  in_world([](Communicator& world) {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const auto map = rank_map(world);
    const std::string ranks =
        world.size() == 1 ? "rank 0" : fmt::format("ranks 0-{}", world.size() - 1);
    EXPECT_EQ(map.size(), 1u);
    EXPECT_EQ(map.front().rfind(fmt::format("{}: {} on cores ", host, ranks), 0), 0u)
        << map.front();
    EXPECT_EQ(map.front().find(", rank"), std::string::npos) << map.front();
  });
}

TEST(Node, CoresAreDividedByThoseWhoMayUseThem) {
  const std::vector<int> all{0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(fair_cores({all, all}, 1), 4);
  EXPECT_EQ(fair_cores({all, all, all}, 0), 2);
  EXPECT_EQ(fair_cores({{0, 1, 2, 3}, {4, 5, 6, 7}}, 1), 4)
      << "a launcher that binds has divided already";
  EXPECT_EQ(fair_cores({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, 2), 1) << "three thirds";
  EXPECT_EQ(fair_cores({all, {0, 1}}, 0), 7);
  EXPECT_EQ(fair_cores({all, {0, 1}}, 1), 1);
  EXPECT_EQ(fair_cores({{3}, {3}, {3}}, 0), 1);
}

/// Where the launcher has given each rank a core of its own, that is what it has: it is not divided
/// once more.
TEST(Node, ABoundRankKeepsItsCores) {
  in_world([](Communicator& world) {
    cpu_set_t before, one;
    EXPECT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
    const auto masks = world.gather_all(number_ranges(cpus));
    const bool alike = std::all_of(masks.begin(), masks.end(),
                                   [&](const std::string& mask) { return mask == masks.front(); });
    // bound by who has started the test
    if (!alike || int(cpus.size()) < 2 || world.size() < 2) return;
    CPU_ZERO(&one);  // rank 0 has the first CPU alone, the others share what is left
    for (std::size_t i = 0; i < cpus.size(); ++i)
      if ((i == 0) == (world.rank() == 0)) CPU_SET(cpus[i], &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const int others = world.size() - 1, cores = node_share(world, *world.split_by_node()).cores;
    EXPECT_EQ(cores, world.rank() == 0 ? 1 : std::max(1, int(cpus.size() - 1) / others));
    EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  });
}

/// A rank that is bound to one core is told apart. The mask belongs to the calling thread, which is
/// the rank in both kinds of world.
TEST(Node, ABoundRankStandsAlone) {
  in_world([](Communicator& world) {
    cpu_set_t before, one;
    EXPECT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (world.rank() == 0) {
      EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    }
    const std::string map = rank_map(world).front();
    if (world.rank() == 0) {
      EXPECT_EQ(cores_available(), 1);
      const bool told_apart =
          map.find(fmt::format(": rank 0 on cores {}, rank", cpu)) != std::string::npos;
      EXPECT_TRUE(told_apart || world.size() == 1 || CPU_COUNT(&before) == 1) << map;
      EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    }
  });
}

}  // namespace
}  // namespace rollcall::comm
