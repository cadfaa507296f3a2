// NCCL against MPI on the same numbers; skipped where the ranks do not have a device each.
#include "comm/nccl_collectives.hpp"
#include "comm/world.hpp"

#include "base/error.hpp"
#include "base/random.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace rollcall::comm {
namespace {

int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

template <class T>
std::vector<T> numbers(int rank, std::size_t count) {
  const RandomStream random(3, RandomPurpose::test, std::uint64_t(rank));
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = T(std::int64_t(random.bits(i)) >> 4);
  return values;
}

TEST(Nccl, HostAndDeviceBuffersGiveTheBitsOfMpi) {
  bool enough = true;  // NCCL wants a device for every rank
  in_world([&](Communicator& world) { enough = devices() >= ranks_on_node(world); });
  if (!enough) GTEST_SKIP() << "fewer CUDA devices than ranks on this node";
  in_world([](Communicator& world) {
    const auto nccl = nccl_collectives(world, world.rank() % devices());
    for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, (std::size_t{8} << 20) + 1}) {  // the last exceeds one part
      auto expected = numbers<std::int64_t>(world.rank(), count);
      auto host = expected;
      world.sum(expected);
      void* device = nullptr;
      EXPECT_EQ(cudaMalloc(&device, count * 8), cudaSuccess);
      EXPECT_EQ(cudaMemcpy(device, host.data(), count * 8, cudaMemcpyHostToDevice), cudaSuccess);
      nccl->sum({static_cast<std::int64_t*>(device), count});
      nccl->sum(host);
      EXPECT_EQ(host, expected);
      EXPECT_EQ(cudaMemcpy(host.data(), device, count * 8, cudaMemcpyDeviceToHost), cudaSuccess);
      EXPECT_EQ(host, expected);
      cudaFree(device);

      auto largest = numbers<double>(world.rank(), count), by_mpi = largest;
      nccl->maximum(largest);
      world.maximum(by_mpi);
      EXPECT_EQ(largest, by_mpi);
      const int root = world.size() - 1;
      nccl->broadcast(std::as_writable_bytes(std::span(host = numbers<std::int64_t>(world.rank(), count))), root);
      EXPECT_EQ(host, numbers<std::int64_t>(root, count));
    }
    nccl->barrier();
  });
}

TEST(Nccl, AMissingDeviceIsNamed) {
  in_world([](Communicator& world) { EXPECT_THROW(nccl_collectives(world, devices()), EnvironmentError); });
}

}  // namespace
}  // namespace rollcall::comm
