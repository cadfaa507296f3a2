// Fails on rank 2, where nothing is printed: the run with three ranks must be seen to fail, the run
// with one must pass.
#include "comm/world.hpp"

#include <gtest/gtest.h>

TEST(Harness, FailsOnRankTwo) {
  rollcall::comm::in_world([](rollcall::comm::Communicator& world) { EXPECT_LT(world.rank(), 2); });
}
