// Carriers of device memory against MPI on the same numbers: over NCCL where the ranks have a
// device each, and over the stand-in for it on an emulated device.
#include "comm/device_transport.hpp"
#include "comm/transport.hpp"
#include "comm/weight_transfer.hpp"
#include "comm/world.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/random.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace rollcall::comm {
namespace {

constexpr std::size_t kWork = std::size_t{1} << 18;  // what is longer passes in parts

int devices() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

/// Device memory with a copy of these values.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(&memory_, count_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(memory_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~OnDevice() { cudaFree(memory_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  std::span<T> span() const { return {static_cast<T*>(memory_), count_}; }
  std::vector<T> values() const {
    std::vector<T> all(count_);
    EXPECT_EQ(cudaMemcpy(all.data(), memory_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return all;
  }

 private:
  void* memory_ = nullptr;
  std::size_t count_;
};

template <class T>
std::vector<T> numbers(int rank, std::size_t count) {
  const RandomStream random(3, RandomPurpose::test, std::uint64_t(rank));
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = T(std::int64_t(random.bits(i)) >> 4);
  return values;
}

/// body(world, transport) over NCCL (`staged`: over MPI), one device a rank.
void with_carriers(const std::function<void(Communicator&, Transport&)>& body) {
  bool enough = true;
  over_mpi([&](Communicator& world) {
    const int ranks = world.split_by_host()->size();
    enough = devices() > 0 && (std::string(ROLLCALL_DEVICES) == "one each" || devices() >= ranks);
  });
  if (!enough) GTEST_SKIP() << "fewer CUDA devices than ranks on this node";
  over_mpi([&](Communicator& world) {
    world.set_collective_deadline(30);
    const int device = world.rank() % devices();
    body(world, *nccl_transport(device, kWork));
    body(world, *staged_transport(device, kWork));
  });
}

const std::vector<std::size_t> kCounts{1, 1000, kWork / 8 + 1};

TEST(DeviceTransport, SumsMaximaAndBroadcastsHaveTheBitsOfMpi) {
  with_carriers([](Communicator& world, Transport& transport) {
    const auto ranks = transport.over(world);
    for (const std::size_t count : kCounts) {
      auto expected = numbers<std::int64_t>(world.rank(), count);
      const OnDevice<std::int64_t> device(expected);
      auto host = expected;
      world.sum(expected);
      // Host and device buffers meet in one collective.
      ranks->sum(world.rank() % 2 == 0 ? device.span() : std::span(host));
      EXPECT_EQ(world.rank() % 2 == 0 ? device.values() : host, expected);
      auto largest = numbers<double>(world.rank(), count), by_mpi = largest;
      const OnDevice<double> largest_there(largest);
      ranks->maximum(largest), ranks->maximum(largest_there.span()), world.maximum(by_mpi);
      EXPECT_EQ(largest, by_mpi);
      EXPECT_EQ(largest_there.values(), by_mpi);
      const int root = world.size() - 1;
      const OnDevice<std::int64_t> sent(numbers<std::int64_t>(world.rank(), count));
      ranks->broadcast(std::as_writable_bytes(sent.span()), root);
      ranks->broadcast(
          std::as_writable_bytes(std::span(host = numbers<std::int64_t>(world.rank(), count))),
          root);
      EXPECT_EQ(host, numbers<std::int64_t>(root, count));
      EXPECT_EQ(sent.values(), host);
    }
  });
}

TEST(DeviceTransport, ABarrierIsLeftWhenTheLastRankHasCome) {
  with_carriers([](Communicator& world, Transport& transport) {
    const auto ranks = transport.over(world);
    // of all ranks of a node
    const auto now_s = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
    };
    if (world.rank() == world.size() - 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    double last_came = now_s();
    ranks->barrier();
    const double left = now_s();
    world.maximum({&last_came, 1});
    EXPECT_GE(left, last_came);
  });
}

/// Equal, ragged and empty shares; of which one is so much the longest that whole buffers move
/// less.
TEST(DeviceTransport, SharesOfSumsAndWeights) {
  with_carriers([](Communicator& world, Transport& transport) {
    const auto ranks = transport.over(world);
    const auto n = std::int64_t(world.size());
    for (const auto& share : std::vector<std::function<std::int64_t(std::int64_t)>>{
             [](std::int64_t) { return 70000; }, [](std::int64_t r) { return 900 + 150 * r; },
             [](std::int64_t r) { return r == 0 ? 500 : 0; }}) {
      std::vector<std::int64_t> begins{0};
      for (std::int64_t r = 0; r < n; ++r) begins.push_back(begins.back() + share(r));
      const std::size_t size = std::size_t(begins.back()), own = std::size_t(world.rank());
      auto expected = numbers<std::int64_t>(world.rank(), size);
      const OnDevice<std::int64_t> sums(expected);
      ranks->sum_to_shares(sums.span(), begins);
      world.sum(expected);
      const auto got = sums.values();
      EXPECT_TRUE(std::equal(got.begin() + begins[own], got.begin() + begins[own + 1],
                             expected.begin() + begins[own]));

      std::vector<float> whole(size, -1.0F);
      std::fill(whole.begin() + begins[own], whole.begin() + begins[own + 1], float(own) + 0.5F);
      const OnDevice<float> weights(whole);
      ranks->gather_shares(weights.span(), begins), world.gather_shares(whole, begins);
      EXPECT_EQ(weights.values(), whole);
    }
  });
}

/// Every rank fills one slice of all others, of which each is longer than a part; on odd ranks the
/// weights lie on the host.
TEST(DeviceTransport, WeightsTravelAsNamedSlicesSideBySide) {
  with_carriers([](Communicator& world, Transport& transport) {
    constexpr std::int64_t kSlice = kWork / 16 + 3;
    std::vector<TransferBatch> plan;
    for (int root = 0; root < world.size(); ++root) {
      plan.push_back({root, {}, {{"w", kSlice * root, kSlice - 1 - root}}});
      for (int r = 0; r < world.size(); ++r) {
        if (r != root) plan.back().receivers.push_back(r);
      }
    }
    std::vector<float> weights(std::size_t(kSlice * world.size()), float(world.rank()) - 7.0F);
    const OnDevice<float> there(weights);
    WeightTransfer(world, plan, std::shared_ptr<Transport>(std::shared_ptr<void>(), &transport))
        .run(world.rank() % 2 == 0 ? there.span() : std::span(weights), 5);
    if (world.rank() % 2 == 0) weights = there.values();
    for (std::int64_t i = 0; i < std::int64_t(weights.size()); ++i) {
      const bool sent = i % kSlice < kSlice - 1 - i / kSlice;  // what no slice has stays
      ASSERT_EQ(weights[std::size_t(i)], float(sent ? i / kSlice : world.rank()) - 7.0F) << i;
    }
  });
}

TEST(DeviceTransport, AMissingDeviceIsNamed) {
  over_mpi([](Communicator& world) {
    EXPECT_THROW(agree_on_transport(world, "auto", devices()), EnvironmentError);
  });
}

}  // namespace
}  // namespace rollcall::comm
