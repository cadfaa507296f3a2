// What only the stand-in for NCCL can show: ranks that never come, errors of the network, aborts,
// groups of calls, and two ranks with one device.
#include "comm/device_transport.hpp"
#include "comm/transport.hpp"
#include "comm/weight_transfer.hpp"
#include "comm/world.hpp"
#include "emulation.hpp"
#include "nccl_stand_in/stand_in.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"

#include <gtest/gtest.h>

namespace rollcall::comm {
namespace {

constexpr std::size_t kWork = std::size_t{1} << 18;

/// The message with which `act` ends.
template <class Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const ProtocolError& error) {
    return error.what();
  }
  return "no error";
}
bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Nccl, ARankThatNeverComesMeetsTheNamedDeadline) {
  over_mpi([](Communicator& world) {
    if (world.size() == 1) return;
    const int away = world.size() - 1;
    const auto transport = nccl_transport(0, kWork);
    auto ranks = transport->over(world);
    const auto group = world.split(0);
    auto others = transport->over(*group);
    const int aborted = stand_in::counts().aborted;
    if (world.rank() != away) {
      group->set_collective_deadline(0.3);
      std::vector<std::int64_t> values(100, 1);
      const Stopwatch clock;
      const std::string text = error_of([&] { others->sum(values); });
      EXPECT_TRUE(has(text, "rank " + std::to_string(world.rank()) + " waited ")) << text;
      EXPECT_TRUE(has(text, " s for the sum of all ranks (")) << text;
      // The other rank that waits may have given up before; then it stands in the barrier as well.
      const bool names_it = has(text, "rank 2 waits in MPI_Ibarrier") ||
                            has(text, "ranks 0,2 wait in MPI_Ibarrier") ||
                            has(text, "ranks 1-2 wait in MPI_Ibarrier");
      EXPECT_TRUE(names_it) << text;
      EXPECT_GE(clock.seconds(), 0.3);
      EXPECT_EQ(stand_in::counts().aborted, aborted + 1);
      EXPECT_TRUE(has(error_of([&] { others->sum(values); }),
                      "communicator of NCCL that an error has ended"));
    }
    world.barrier();
    if (world.rank() == away) group->set_collective_deadline(0.1);
    others.reset();
    std::vector<std::int64_t> one{1};
    ranks->sum(one);  // the other communicator still works
    EXPECT_EQ(one[0], world.size());
    world.barrier();
  });
}

TEST(Nccl, ARankThatNeverJoinsACommunicatorMeetsItToo) {
  over_mpi([](Communicator& world) {
    if (world.size() == 1) return;
    const auto group = world.split(0);
    // Of the communicator the last rank gets the id, and no more.
    if (world.rank() == world.size() - 1) {
      ncclUniqueId id{};
      group->broadcast(std::as_writable_bytes(std::span(id.internal)), 0);
    } else {
      group->set_collective_deadline(0.2);
      const std::string text = error_of([&] { nccl_transport(0, kWork)->over(*group); });
      EXPECT_TRUE(has(text, " s for ncclCommInitRankConfig (")) << text;
    }
    world.barrier();
  });
}

TEST(Nccl, AnErrorOfTheNetworkAbortsAndIsNamed) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    // after the call, and in it
    for (const auto fail : {stand_in::fail_next, stand_in::refuse_next_group}) {
      const auto ranks = transport->over(world);
      std::vector<std::int64_t> values(10, 1);
      const int aborted = stand_in::counts().aborted;
      fail(ncclRemoteError);
      const std::string text = error_of([&] { ranks->sum(values); });
      EXPECT_TRUE(has(text, "ncclAllReduce failed (remote process exited")) << text;
      EXPECT_EQ(stand_in::counts().aborted, aborted + 1);
      world.barrier();
    }
  });
}

/// Calls of a group that is never ended are queued nowhere, and those behind them neither.
TEST(Nccl, AnErrorAmongBroadcastsSideBySideEndsTheirGroup) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    auto ranks = transport->over(world), broken = transport->over(world);
    std::vector<std::int64_t> values(10, 1), more(10, 1);
    stand_in::fail_next(ncclRemoteError);
    EXPECT_NE(error_of([&] { broken->sum(values); }), "no error");
    const int aborted = stand_in::counts().aborted;
    const Broadcast both[] = {{ranks.get(), 0, std::as_writable_bytes(std::span(values))},
                              {broken.get(), 0, std::as_writable_bytes(std::span(more))}};
    EXPECT_TRUE(has(error_of([&] { transport->broadcast(both); }),
                    "communicator of NCCL that an error has ended"));
    EXPECT_EQ(stand_in::counts().aborted, aborted + 1)
        << "of the communicator that was whole others may wait for this rank";
    const auto fresh = transport->over(world);
    std::vector<std::int64_t> one{1};
    fresh->sum(one);
    EXPECT_EQ(one[0], world.size());
  });
}

TEST(Nccl, AGroupThatIsRefusedAbortsItsCommunicators) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    const auto one = transport->over(world), other = transport->over(world);
    std::vector<std::int64_t> values(10, 1), more(10, 1);
    const Broadcast both[] = {{one.get(), 0, std::as_writable_bytes(std::span(values))},
                              {other.get(), 0, std::as_writable_bytes(std::span(more))}};
    const int aborted = stand_in::counts().aborted;
    stand_in::refuse_next_group(ncclRemoteError);
    const std::string text = error_of([&] { transport->broadcast(both); });
    EXPECT_TRUE(has(text, "ncclGroupEnd failed (remote process exited")) << text;
    EXPECT_EQ(stand_in::counts().aborted, aborted + 2);
  });
}

/// On the way out of an exception the others may never come: no end in order is tried.
TEST(Nccl, AnExceptionOnTheWayAbortsAndAnOrderlyEndDoesNot) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    const auto before = stand_in::counts();
    try {
      const auto ranks = transport->over(world);
      throw std::runtime_error("something else");
    } catch (const std::runtime_error&) {
    }
    EXPECT_EQ(stand_in::counts().aborted, before.aborted + 1);
    transport->over(world)->barrier();
    EXPECT_EQ(stand_in::counts().destroyed, before.destroyed + 1);
    EXPECT_EQ(stand_in::counts().aborted, before.aborted + 1);
    world.barrier();
  });
}

/// Of a sum each rank keeps its share: what goes to the network is a share a rank, not the whole
/// buffer.
TEST(Nccl, SharesAreScattered) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    const auto ranks = transport->over(world);
    const std::int64_t n = world.size(), count = 3 * n;
    std::vector<std::int64_t> values(std::size_t(count), 2), begins;
    for (std::int64_t r = 0; r <= n; ++r) begins.push_back(3 * r);
    const auto before = stand_in::counts();
    ranks->sum_to_shares(values, begins);
    EXPECT_EQ(stand_in::counts().scattered - before.scattered, 8 * count);
    EXPECT_EQ(stand_in::counts().sent - before.sent, 8 * count);
    EXPECT_EQ(values[std::size_t(3 * world.rank())], 2 * n);
  });
}

/// In turns, ranks that take part in few of them and in many would wait for one another.
TEST(Nccl, MoreBroadcastsThanHaveRoomAreRefused) {
  over_mpi([](Communicator& world) {
    const auto transport = nccl_transport(0, kWork);
    const auto ranks = transport->over(world);
    std::vector<float> weights(1, 1.0F);
    std::vector<Broadcast> nine(9, {ranks.get(), 0, std::as_writable_bytes(std::span(weights))});
    EXPECT_THROW(transport->broadcast(nine), std::logic_error);
    nine.pop_back();
    EXPECT_NO_THROW(transport->broadcast(nine));
  });
}

TEST(Nccl, BatchesOfATransferShareAGroup) {
  over_mpi([](Communicator& world) {
    std::vector<TransferBatch> plan;
    for (int root = 0; root < 2 && world.size() > 1; ++root)
      plan.push_back({root, {world.size() - 1}, {{"w", 10 * root, 10}}});
    std::vector<float> weights(20, 1.0F);
    const std::shared_ptr<Transport> transport = nccl_transport(0, kWork);
    WeightTransfer transfer(world, plan, transport);
    const int groups = stand_in::counts().groups;
    transfer.run(weights, 1);
    EXPECT_EQ(stand_in::counts().groups - groups, transfer.takes_part() ? 1 : 0);
    EXPECT_TRUE(world.size() == 1 || world.rank() != world.size() - 1 ||
                stand_in::counts().most_in_group >= 2);
  });
}

TEST(Nccl, RanksThatShareADeviceAreStaged) {
  over_mpi([](Communicator& world) {
    emulation::name_device("0000:65:00.0");
    const auto shared = agree_on_transport(world, "auto", 0, kWork);
    EXPECT_EQ(shared.choice.transport,
              world.size() == 1 ? TransportKind::nccl : TransportKind::staged);
    EXPECT_TRUE(world.size() == 1 ||
                has(shared.choice.reason, "ranks 0-2 share device 0000:65:00.0 of node "))
        << shared.choice.reason;
    const int before = stand_in::counts().communicators;
    std::vector<std::int64_t> values{world.rank() + 1};
    shared.transport->over(world)->sum(values);
    EXPECT_EQ(values[0], world.size() * (world.size() + 1) / 2);
    EXPECT_EQ(stand_in::counts().communicators - before, world.size() == 1 ? 1 : 0);
    emulation::name_device("0000:0" + std::to_string(world.rank()) + ":00.0");
    EXPECT_EQ(agree_on_transport(world, "auto", 0, kWork).choice.transport, TransportKind::nccl);
    EXPECT_EQ(agree_on_transport(world, "mpi", 0, kWork).choice.transport, TransportKind::staged);
  });
}

}  // namespace
}  // namespace rollcall::comm
