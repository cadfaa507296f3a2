// A program started without a launcher is a world of one MPI rank.
#include "comm/communicator.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rollcall::comm {
namespace {

TEST(MpiScope, WorksWithoutALauncher) {
  const MpiScope mpi(nullptr, nullptr);
  const auto world = mpi.world();
  EXPECT_EQ(world->size(), 1);
  EXPECT_NE(world->mpi_handle(), nullptr);
  EXPECT_FALSE(MpiScope::library_version().empty());
  std::vector<std::int64_t> values{41};
  world->sum(values);
  world->send(0, 1, "to myself");
  EXPECT_EQ(receive(*world, 1, "my letter").bytes, "to myself");
  EXPECT_EQ(values[0], 41);
}

}  // namespace
}  // namespace rollcall::comm
