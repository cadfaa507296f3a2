// Which transport follows from which devices, and what is said of it.
#include "comm/transport.hpp"

#include "base/errors/error.hpp"

#include <gtest/gtest.h>

namespace rollcall::comm {
namespace {

const RankDevice kA{"n1", "0000:01:00.0", ""}, kB{"n1", "0000:02:00.0", ""},
    kFar{"n2", "0000:01:00.0", "", 1}, kPlain{"n1", "", ""};

std::string chosen(const std::string& wish, const std::vector<RankDevice>& ranks) {
  return describe(choose_transport(wish, ranks));
}

TEST(Transport, EachReasonIsNamed) {
  EXPECT_EQ(chosen("auto", {kA, kB, kFar}), "NCCL: each of the 3 ranks has a device of its own");
  EXPECT_EQ(chosen("nccl", {kA}), "NCCL: the only rank has a device");
  EXPECT_EQ(chosen("mpi", {kA, kB}), "MPI, device memory staged through the host: run.comm is mpi");
  EXPECT_EQ(
      chosen("auto", {kA, kFar, kA}),
      "MPI, device memory staged through the host: ranks 0,2 share device 0000:01:00.0 of node n1");
  EXPECT_EQ(chosen("auto", {kA, kPlain}),
            "MPI, device memory staged through the host: rank 1 has no device");
  EXPECT_EQ(chosen("auto", {kA, {"n1", "0000:02:00.0", "it was built without NCCL"}}),
            "MPI, device memory staged through the host: rank 1: it was built without NCCL");
  EXPECT_EQ(chosen("auto", {kPlain, kPlain}), "MPI: the ranks compute on their processors");
  EXPECT_EQ(chosen("mpi", {kPlain}), "MPI: the ranks compute on their processors");
}

/// Two machines whose containers have one name, and one machine whose containers have two.
TEST(Transport, AMachineIsKnownByItsNumber) {
  const RankDevice here{"box", "0000:01:00.0", "", 0}, there{"box", "0000:01:00.0", "", 1},
      renamed{"case", "0000:01:00.0", "", 0};
  EXPECT_EQ(chosen("auto", {here, there}), "NCCL: each of the 2 ranks has a device of its own");
  EXPECT_EQ(
      chosen("auto", {here, renamed}),
      "MPI, device memory staged through the host: ranks 0-1 share device 0000:01:00.0 of node box");
}

TEST(Transport, NcclIsNotReplacedWhereItWasAskedFor) {
  for (const auto& ranks : std::vector<std::vector<RankDevice>>{{kA, kA}, {kPlain}, {kA, kPlain}}) {
    try {
      choose_transport("nccl", ranks);
      ADD_FAILURE();
    } catch (const EnvironmentError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("run.comm is nccl, but ", 0), 0u) << error.what();
    }
  }
}

}  // namespace
}  // namespace rollcall::comm
