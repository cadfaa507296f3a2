// What a rank that gives up says of the others: the text by hand, then over MPI with one rank that
// stays away.
#include "comm/roll_call.hpp"

#include "base/errors/error.hpp"
#include "base/time/clock.hpp"
#include "comm/world.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace rollcall::comm {
namespace {

std::string role(int rank) { return rank < 2 ? "generation" : "update"; }

TEST(RollCall, NamesTheSilentFirstAndGroupsTheOthers) {
  const std::string plan = "for the plan of step 3",
                    sum = "in MPI_Iallreduce in the update of step 2";
  EXPECT_EQ(
      describe_roll({plan, std::nullopt, sum, sum, std::nullopt, sum}, 0, role),
      "rank 1 (generation) does not answer: stopped, dead or computing; rank 4 (update) does not answer: stopped, dead or computing; "
      "ranks 2-3,5 wait in MPI_Iallreduce in the update of step 2");
  EXPECT_EQ(describe_roll({plan, std::nullopt, std::nullopt}, 0, {}),
            "ranks 1-2 do not answer: stopped, dead or computing");
  EXPECT_EQ(describe_roll({plan, plan}, 1, role), "rank 0 waits for the plan of step 3");
  EXPECT_EQ(describe_roll({plan}, 0, role), "");
}

TEST(RollCall, ManyDifferentAnswersAreCutShort) {
  std::vector<std::optional<std::string>> answers;
  for (int rank = 0; rank < 20; ++rank) answers.push_back("for " + std::to_string(rank));
  const std::string text = describe_roll(answers, 0, role);
  EXPECT_TRUE(text.ends_with("; and others")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), ';'), 6) << text;
}

/// The last rank computes for longer than rank 0 is ready to wait; the ranks between wait in a
/// barrier and say so.
TEST(RollCall, OverMpiFindsTheRankThatStaysAway) {
  over_mpi([](Communicator& world) {
    const int away = world.size() - 1;
    const auto twin = world.split(0);
    world.roll()->role = role;
    world.set_activity("update of step 7");
    const Stopwatch clock;
    while (world.rank() == away && away > 0 && clock.seconds() < 3.5)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (world.rank() == 0 && away > 0) {
      twin->set_collective_deadline(0.2);
      try {
        twin->barrier();
        ADD_FAILURE() << "the last rank has not come";
      } catch (const ProtocolError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find(" s in MPI_Ibarrier (it is in the update of step 7; rank " +
                            std::to_string(away) + " (update) does not answer"),
                  std::string::npos)
            << text;
        const bool others =
            text.find(away == 2 ? "; rank 1 waits in MPI_Ibarrier"
                                : "; ranks 1-2 wait in MPI_Ibarrier") != std::string::npos;
        EXPECT_TRUE(others) << text;
      }
    }
    world.set_activity("");
    world.barrier();
    if (world.rank() != 0) twin->barrier();  // matches the one that rank 0 gave up
    world.barrier();
  });
}

/// Rank 0 has no work for the others for longer than they wait, but it is there.
TEST(RollCall, AGiverThatAnswersIsWaitedFor) {
  over_mpi([](Communicator& world) {
    world.barrier();
    const Stopwatch clock;
    if (world.rank() == 0) {
      world.wait([&] { return clock.seconds() > 1.0; }, 30, "the end of a second");
      for (int to = 1; to < world.size(); ++to) world.send(to, 1, "work");
    } else {
      try {
        EXPECT_EQ(receive(world, 0.3, "work", {}, 0).bytes, "work");
        EXPECT_GT(clock.seconds(), 0.9);
      } catch (const ProtocolError& error) {
        ADD_FAILURE() << error.what();
        receive(world, 30, "the same");
      }
    }
    world.barrier();
  });
}

TEST(RollCall, EveryRankMayCallAtOnce) {
  over_mpi([](Communicator& world) {
    world.barrier();
    try {
      receive(world, 0.2, "nothing at all");
      ADD_FAILURE() << "nothing was sent";
    } catch (const ProtocolError& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find("not answer"), std::string::npos) << text;
      EXPECT_NE(text.find(world.size() == 1 ? "(there is no other rank)" : "wait"),
                std::string::npos)
          << text;
    }
    world.barrier();
  });
}

}  // namespace
}  // namespace rollcall::comm
