// How a rank's device is described, and the transport that stages device memory for MPI.
#include "comm/device_transport.hpp"

#include "base/errors/error.hpp"
#include "comm/device_collectives.hpp"

#include <fmt/format.h>

#include <array>

namespace rollcall::comm {
namespace {

/// Runs MPI on pinned host memory.
class StagedCollectives final : public DeviceCollectives {
 public:
  using DeviceCollectives::DeviceCollectives;
  void barrier() override { group_->barrier(); }

 private:
  void sum_work(std::span<std::int64_t> values) override { arrived(), group_->sum(values); }
  void maximum_work(std::span<double> values) override { arrived(), group_->maximum(values); }
  void broadcast_work(std::span<std::byte> bytes, int root) override {
    arrived(), group_->broadcast(bytes, root);
  }
  void sum_to_shares_work(std::span<std::int64_t> values, std::size_t share) override {
    arrived(), group_->sum_to_shares(values, equal_shares(share));
  }
  void gather_work(std::span<float> values, std::size_t share) override {
    arrived(), group_->gather_shares(values, equal_shares(share));
  }
  void arrived() { finish("a copy from the device"); }
  void finish(const char* what) override {
    group_->wait([&] { return work_->idle(); }, group_->collective_deadline_s(), what);
  }
  std::vector<std::int64_t> equal_shares(std::size_t share) const {
    std::vector<std::int64_t> share_offsets;
    for (int r = 0; r <= size(); ++r) share_offsets.push_back(r * std::int64_t(share));
    return share_offsets;
  }
};

class StagedTransport final : public Transport {
 public:
  StagedTransport(int device, std::size_t bytes)
      : work_(std::make_shared<WorkMemory>(device, WorkMemory::Side::host, bytes)) {}
  std::unique_ptr<Collectives> over(Communicator& group) override {
    return std::make_unique<StagedCollectives>(group, work_);
  }
  void broadcast(std::span<const Broadcast> broadcasts) override {
    for (const Broadcast& one : broadcasts) one.ranks->broadcast(one.bytes, one.root);
  }
  std::uint64_t checksum(std::span<const std::byte> bytes) override {
    return checksum_anywhere(bytes);
  }

 private:
  std::shared_ptr<WorkMemory> work_;
};

}  // namespace

RankDevice rank_device(int device) {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  require<EnvironmentError>(
      code == cudaSuccess && device >= 0 && device < devices,
      fmt::format("this process has no CUDA device {}", device),
      code == cudaSuccess ? fmt::format("it sees {}", devices) : cudaGetErrorString(code),
      "start no more ranks on a node than it has GPUs, and let every rank see them all "
      "(docs/guide/gpus.md)");
  std::array<char, 32> place{};
  check_cuda(cudaDeviceGetPCIBusId(place.data(), int(place.size()), device),
             "cudaDeviceGetPCIBusId");
  RankDevice found{"", place.data(), ""};
#ifndef ROLLCALL_WITH_NCCL
  found.no_nccl = "this program was built without NCCL";
#endif
  return found;
}

std::unique_ptr<Transport> device_transport(TransportKind transport, int device,
                                            std::size_t work_bytes) {
#ifdef ROLLCALL_WITH_NCCL
  if (transport == TransportKind::nccl) return nccl_transport(device, work_bytes);
#endif
  expect(transport == TransportKind::staged, "a build without NCCL has said so");
  return staged_transport(device, work_bytes);
}

std::unique_ptr<Transport> staged_transport(int device, std::size_t work_bytes) {
  return std::make_unique<StagedTransport>(device, work_bytes);
}

}  // namespace rollcall::comm
