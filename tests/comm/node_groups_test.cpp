// Memory that the ranks of a node share, and shares among nodes of any sizes.
#include "comm/node_groups.hpp"
#include "comm/world.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <numeric>
#include <set>

namespace rollcall::comm {
namespace {

TEST(SharedMemory, WhatOneRankWritesAllRead) {
  in_world([](Communicator& world) {
    const auto node = world.split_by_node();
    EXPECT_EQ(node->size(), world.size());
    constexpr std::size_t kEach = 5'000;
    const auto size = std::size_t(node->size());
    const SharedMemory memory = node->share_memory(size * kEach * sizeof(std::int64_t));
    const auto numbers = memory.view<std::int64_t>(0, size * kEach);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::int64_t(0)), 0);
    node->barrier();
    for (std::size_t i = 0; i < kEach; ++i)
      numbers[std::size_t(node->rank()) * kEach + i] = std::int64_t(i);
    node->barrier();
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), std::int64_t(0)),
              std::int64_t(size * kEach * (kEach - 1) / 2));
    node->barrier();
  });
}

TEST(NodeGroups, OneNodeExchangesNothing) {
  in_world([](Communicator& world) {
    const auto groups = make_node_groups(world, mpi_transport().get());
    EXPECT_EQ(groups.own, world.rank());
    EXPECT_EQ(int(groups.shares.size()), world.size());
    EXPECT_EQ(groups.across.size(), 1u);
    EXPECT_EQ(groups.across.front().ranks->size(), 1);
    EXPECT_EQ(begins_of(groups.across.front(), std::vector<std::int64_t>{0, 3, 6, 9, 12}),
              (std::vector<std::int64_t>{3 * world.rank(), 3 * world.rank() + 3}));
  });
}

/// Every node adds up what its ranks have of each share, in one array; after the exchanges each
/// share's owner has the whole, and gathered, every node has all.
void sums_reach_their_owners(int ranks, int on_node) {
  SCOPED_TRACE(testing::Message() << ranks << " ranks, " << on_node << " on a node");
  std::vector<std::int64_t> begins{0};
  for (int share = 0; share < ranks; ++share) begins.push_back(begins.back() + 2 + 3 * share % 7);
  const auto size = std::size_t(begins.back());
  std::mutex mutex;
  std::set<int> owned;
  run_as_threads(
      ranks,
      [&](Communicator& world) {
        const auto groups = make_node_groups(world, mpi_transport().get());
        {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(owned.insert(groups.own).second) << "two ranks own share " << groups.own;
        }
        const auto node = groups.node->share_memory(size * (sizeof(std::int64_t) + sizeof(float)));
        const auto sums = node.view<std::int64_t>(0, size);
        const auto weights = node.view<float>(sums.size_bytes(), size);
        {
          const std::lock_guard lock(mutex);
          for (std::size_t i = 0; i < size; ++i) sums[i] += std::int64_t(i) << world.rank();
        }
        world.barrier();
        const auto own =
            std::pair(begins[std::size_t(groups.own)], begins[std::size_t(groups.own) + 1]);
        for (const auto& across : groups.across) {
          auto from = begins_of(across, begins);
          const auto start = from.front(), count = from.back() - start;
          for (auto& begin : from) begin -= start;
          across.ranks->sum_to_shares(sums.subspan(std::size_t(start), std::size_t(count)), from);
        }
        for (auto i = own.first; i < own.second; ++i) {
          EXPECT_EQ(sums[std::size_t(i)], i * ((std::int64_t(1) << ranks) - 1));
          weights[std::size_t(i)] = float(i);
        }
        for (const auto& across : groups.across) {
          auto from = begins_of(across, begins);
          const auto start = from.front(), count = from.back() - start;
          for (auto& begin : from) begin -= start;
          across.ranks->gather_shares(weights.subspan(std::size_t(start), std::size_t(count)),
                                      from);
        }
        groups.node->barrier();
        for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(weights[i], float(i));
        world.barrier();
      },
      on_node);
  EXPECT_EQ(owned.size(), std::size_t(ranks));
}

TEST(NodeGroups, SumsReachTheOwnersOfTheirShares) {
  for (const auto& [ranks, on_node] :
       {std::pair(1, 1), {3, 1}, {4, 2}, {5, 2}, {7, 3}, {8, 3}, {6, 6}})
    sums_reach_their_owners(ranks, on_node);
}

TEST(NodeGroups, RanksOfAPlaceOwnNeighbouringShares) {
  run_as_threads(
      5,
      [](Communicator& world) {  // nodes of ranks 0 1, 2 3 and 4
        const auto groups = make_node_groups(world, mpi_transport().get());
        EXPECT_EQ(groups.own, (std::vector<int>{0, 3, 1, 4, 2}[std::size_t(world.rank())]));
        EXPECT_EQ(groups.across.size(), world.rank() == 4 ? 2u : 1u)
            << "a node of one rank stands in for the second place";
        EXPECT_EQ(groups.across.back().shares, world.rank() % 2 == 1 || world.rank() == 4
                                                   ? (std::vector<int>{3, 4, -1})
                                                   : (std::vector<int>{0, 1, 2}));
        const auto node = world.split_by_node();
        EXPECT_EQ(lowest_on_node(world, *node), (std::vector<int>{0, 0, 2, 2, 4}));
      },
      2);
}

}  // namespace
}  // namespace rollcall::comm
