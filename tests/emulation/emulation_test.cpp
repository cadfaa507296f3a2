// The emulated device itself: each fault of a kernel is reported, a right kernel is not, work is
// late, the host is kept out.
#include "emulation.hpp"
#include "sample_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace emulation {
namespace {

using samples::Fault;
constexpr int kCount = 64;

template <class T>
T* on_device(const std::vector<T>& values) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, values.size() * sizeof(T)), cudaSuccess);
  EXPECT_EQ(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
            cudaSuccess);
  return static_cast<T*>(memory);
}
template <class T>
std::vector<T> from_device(const T* memory, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cudaMemcpy(values.data(), memory, count * sizeof(T), cudaMemcpyDeviceToHost),
            cudaSuccess);
  return values;
}
std::vector<float> ramp() {
  std::vector<float> values(kCount);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

/// The values turned round twice, and the reports.
std::vector<std::string> turned(Fault fault, std::vector<float>* result = nullptr) {
  float* values = on_device(ramp());
  int* counter = on_device(std::vector<int>{0});
  samples::turn_round(nullptr, fault, values, counter);
  const std::vector<float> got = from_device(values, kCount);
  if (result) *result = got;
  cudaFree(values), cudaFree(counter);
  return take_reports();
}

TEST(Emulation, ARightKernelIsRightInEveryOrder) {
  for (std::uint64_t order = 0; order < 20; ++order) {
    seed(order);
    std::vector<float> got;
    EXPECT_EQ(turned(Fault::none, &got), std::vector<std::string>{});
    EXPECT_EQ(got, ramp());
  }
}

TEST(Emulation, EveryFaultIsReported) {
  const std::vector<std::pair<Fault, const char*>> faults{
      {Fault::no_barrier, "conflict in shared memory that no barrier orders"},
      {Fault::no_barrier_before_reuse, "conflict in shared memory"},
      {Fault::no_warp_barrier, "conflict in shared memory"},
      {Fault::divergent, "threads wait at and the others never reach"},
      {Fault::out_of_bounds, "outside of all device memory"},
      {Fault::host_memory, "memory of the host touched"},
      {Fault::same_word, "conflict in global memory"},
      {Fault::plain_beside_atomic, "conflict in global memory"}};
  for (const auto& [fault, text] : faults)
    for (std::uint64_t order = 0; order < 5; ++order) {
      seed(order);
      const auto reports = turned(fault);
      EXPECT_TRUE(std::any_of(reports.begin(), reports.end(), [&, t = text](const std::string& r) {
        return r.find(t) != std::string::npos;
      })) << text;
      const auto names = [](const std::string& r) {
        return r.find("sample_kernels.cu:") != std::string::npos;
      };
      EXPECT_TRUE(std::all_of(reports.begin(), reports.end(), names))
          << (reports.empty() ? "" : reports.front());
    }
}

TEST(Emulation, ACopyLandsAtItsWait) {
  std::vector<float> got;
  turned(Fault::early_read, &got);
  EXPECT_TRUE(std::isnan(got[0]));
}

TEST(Emulation, ALeftOutBarrierIsPassed) {
  turned(Fault::none);
  int noticed = 0, sites = 0;
  for (const Site site : barriers_met()) {
    leave_out(site);
    std::vector<float> got;
    noticed += !turned(Fault::none, &got).empty() || got != ramp();
    ++sites;
  }
  leave_out({});
  EXPECT_GE(sites, 7);
  EXPECT_GE(noticed, 5);  // the sample has barriers that are not needed
}

TEST(Emulation, OrdersFollowTheSeed) {
  const auto order = [](std::uint64_t s) {
    seed(s);
    int *order_of = on_device(std::vector<int>(kCount)), *counter = on_device(std::vector<int>{0});
    samples::note_order(nullptr, order_of, counter);
    const auto found = from_device(order_of, kCount);
    cudaFree(order_of), cudaFree(counter);
    return found;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
  EXPECT_EQ(take_reports(), std::vector<std::string>{});
}

TEST(Emulation, WorkIsDoneWhenItIsWaitedFor) {
  cudaStream_t one, two;
  cudaStreamCreate(&one), cudaStreamCreate(&two);
  std::vector<float> host{1.0F}, back{0.0F};
  float* value = on_device(std::vector<float>{0.0F});
  cudaMemcpyAsync(value, host.data(), 4, cudaMemcpyHostToDevice, one);
  host[0] = 5.0F;  // too early: the copy has not begun
  samples::step(one, value, 1);
  cudaMemcpyAsync(back.data(), value, 4, cudaMemcpyDeviceToHost, one);
  EXPECT_EQ(back[0], 0.0F);
  cudaStreamSynchronize(two);
  EXPECT_EQ(back[0], 0.0F);  // another stream's work
  EXPECT_EQ(cudaStreamQuery(one), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamSynchronize(one), cudaSuccess);
  EXPECT_EQ(back[0], 10.0F);
  cudaEvent_t event;
  cudaEventCreate(&event);
  samples::step(one, value, 1);
  cudaEventRecord(event, one);
  cudaStreamWaitEvent(two, event);
  cudaMemcpyAsync(back.data(), value, 4, cudaMemcpyDeviceToHost, two);
  cudaStreamSynchronize(two);
  EXPECT_EQ(back[0], 20.0F);  // through the event
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaEventDestroy(event), cudaStreamDestroy(one), cudaStreamDestroy(two), cudaFree(value);
}

TEST(Emulation, AGraphRepeatsWhatItCaptured) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  float* value = on_device(std::vector<float>{1.0F});
  samples::step(stream, value, 0);  // the kernel is loaded
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  samples::step(stream, value, 1);
  samples::step(stream, value, 1);
  cudaStreamEndCapture(stream, &graph);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(from_device(value, 1)[0], 1.0F);  // captured, not run
  cudaGraphInstantiate(&executable, graph);
  cudaGraphLaunch(executable, stream), cudaGraphLaunch(executable, stream);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(from_device(value, 1)[0], 16.0F);
  cudaGraphDestroy(graph), cudaGraphExecDestroy(executable), cudaStreamDestroy(stream),
      cudaFree(value);
}

/// Copies read pinned memory, and kernels device memory, when the launch is done; so host and
/// streams must not be ahead of it.
TEST(Emulation, AGraphIsLate) {
  cudaStream_t one, two;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking),
      cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  float* value = on_device(std::vector<float>{1.0F});
  samples::step(one, value, 0);  // the kernel is loaded
  void* pinned = nullptr;
  cudaMallocHost(&pinned, 4);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal);
  cudaMemcpyAsync(value, pinned, 4, cudaMemcpyHostToDevice, one);
  samples::step(one, value, 1);
  cudaStreamEndCapture(one, &graph);
  cudaGraphInstantiate(&executable, graph);
  *static_cast<float*>(pinned) = 3.0F;
  cudaGraphLaunch(executable, one);
  *static_cast<float*>(pinned) = 5.0F;
  EXPECT_EQ(from_device(value, 1)[0], 1.0F);
  cudaGraphLaunch(executable, two);
  cudaGraphExecDestroy(executable);  // what was launched goes on
  cudaStreamSynchronize(two);
  EXPECT_EQ(cudaStreamQuery(one), cudaSuccess) << "launches of one graph come one after the other";
  EXPECT_EQ(from_device(value, 1)[0], 10.0F);
  cudaGraphDestroy(graph), cudaStreamDestroy(one), cudaStreamDestroy(two), cudaFree(value),
      cudaFreeHost(pinned);
}

/// Each call by itself; what is left is no graph.
TEST(Emulation, ACaptureMayOnlyQueue) {
  cudaStream_t stream, other;
  cudaStreamCreate(&stream), cudaStreamCreate(&other);
  float* value = on_device(std::vector<float>{1.0F});
  void* taken = nullptr;
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  samples::step(other, value, 1);
  cudaEventRecord(event, other);
  const std::vector<std::function<cudaError_t()>> forbidden{
      [&] { return cudaMalloc(&taken, 4); },
      [&] { return cudaMallocAsync(&taken, 4, stream); },
      [&] { return cudaMallocHost(&taken, 4); },
      [&] { return cudaFree(value); },
      [&] { return cudaStreamSynchronize(stream); },
      [&] { return cudaStreamQuery(stream); },
      [&] { return cudaDeviceSynchronize(); },
      [&] { return cudaMemcpy(value, value, 4, cudaMemcpyDefault); },
      [&] { return cudaStreamWaitEvent(stream, event); },
      [&] { return samples::idle(stream); }};
  for (std::size_t i = 0; i < forbidden.size(); ++i) {
    cudaGraph_t graph;
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(forbidden[i](), cudaErrorStreamCaptureUnsupported) << i;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated) << i;
    EXPECT_EQ(graph, nullptr) << i;
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(samples::idle(stream), cudaSuccess);
  cudaEventDestroy(event), cudaStreamDestroy(stream), cudaStreamDestroy(other), cudaFree(value);
}

TEST(EmulationDeathTest, TheHostMayNotTouchDeviceMemory) {
  float* value = on_device(std::vector<float>{1.0F});
  EXPECT_DEATH(*value = 2.0F, "the host touched device memory");
  cudaFree(value);
}

TEST(Emulation, WhatIsFreedIsGone) {
  float* value = on_device(std::vector<float>(4, 1.0F));
  float* kept = on_device(std::vector<float>(4, 1.0F));
  cudaFree(value);
  samples::step(nullptr, value, 4);
  cudaDeviceSynchronize();
  EXPECT_FALSE(take_reports().empty());
  cudaFree(kept);
}

}  // namespace
}  // namespace emulation
