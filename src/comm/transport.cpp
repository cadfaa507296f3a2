// How a transport is chosen, and the transport over plain MPI.
#include "comm/transport.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"
#include "comm/device_transport.hpp"
#include "comm/node_groups.hpp"
#include "comm/rank_groups.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>

namespace rollcall::comm {
namespace {

/// Why NCCL cannot be used; empty if it can.
std::string obstacle(const std::vector<RankDevice>& ranks) {
  std::vector<int> plain;
  std::map<std::pair<int, std::string>, std::vector<int>> sharers;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].device.empty()) plain.push_back(int(r));
    else sharers[{ranks[r].host, ranks[r].device}].push_back(int(r));
  }
  if (plain.size() == ranks.size()) return "the ranks compute on their processors";
  if (!plain.empty())
    return fmt::format("{} {} no device", name_ranks(plain), plain.size() == 1 ? "has" : "have");
  const auto without = std::find_if(ranks.begin(), ranks.end(),
                                    [](const RankDevice& rank) { return !rank.no_nccl.empty(); });
  if (without != ranks.end())
    return fmt::format("rank {}: {}", without - ranks.begin(), without->no_nccl);
  for (const auto& [device, members] : sharers)
    if (members.size() > 1)
      return fmt::format("{} share device {} of node {}", name_ranks(members), device.second,
                         ranks[std::size_t(members.front())].node);
  return "";
}

/// Collectives that pass every call on to a communicator, so that the caller can own them.
class Forwarded final : public Collectives {
 public:
  explicit Forwarded(Communicator& group) : group_(&group) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void sum(std::span<std::int64_t> values) override { group_->sum(values); }
  void maximum(std::span<double> values) override { group_->maximum(values); }
  void broadcast(std::span<std::byte> bytes, int root) override { group_->broadcast(bytes, root); }
  void barrier() override { group_->barrier(); }
  void sum_to_shares(std::span<std::int64_t> values,
                     std::span<const std::int64_t> share_offsets) override {
    group_->sum_to_shares(values, share_offsets);
  }
  void gather_shares(std::span<float> values,
                     std::span<const std::int64_t> share_offsets) override {
    group_->gather_shares(values, share_offsets);
  }
  Communicator* group() const { return group_; }

 private:
  Communicator* group_;
};

class MpiTransport final : public Transport {
 public:
  std::unique_ptr<Collectives> over(Communicator& group) override {
    return std::make_unique<Forwarded>(group);
  }
  void broadcast(std::span<const Broadcast> broadcasts) override {
    std::vector<GroupBroadcast> all;
    for (const Broadcast& one : broadcasts) {
      const auto* own = dynamic_cast<const Forwarded*>(one.ranks);
      expect(own != nullptr, "broadcasts are among groups of their carrier");
      all.push_back({own->group(), one.root, one.bytes});
    }
    if (!all.empty()) all.front().ranks->broadcast_together(all);
  }
  std::uint64_t checksum(std::span<const std::byte> bytes) override { return checksum64(bytes); }
};

}  // namespace

TransportChoice choose_transport(const std::string& wish, const std::vector<RankDevice>& ranks) {
  const std::string problem = obstacle(ranks);
  require<EnvironmentError>(
      wish != "nccl" || problem.empty(), fmt::format("run.comm is nccl, but {}", problem),
      "NCCL joins devices, one to a rank", "start a rank a device, or leave run.comm at auto");
  const bool devices = std::any_of(ranks.begin(), ranks.end(),
                                   [](const RankDevice& rank) { return !rank.device.empty(); });
  if (!devices) return {TransportKind::mpi, problem};
  if (wish == "mpi") return {TransportKind::staged, "run.comm is mpi"};
  if (!problem.empty()) return {TransportKind::staged, problem};
  return {TransportKind::nccl,
          ranks.size() == 1
              ? "the only rank has a device"
              : fmt::format("each of the {} ranks has a device of its own", ranks.size())};
}

std::string describe(const TransportChoice& choice) {
  const char* name = choice.transport == TransportKind::mpi ? "MPI"
                     : choice.transport == TransportKind::staged
                         ? "MPI, device memory staged through the host"
                         : "NCCL";
  return fmt::format("{}: {}", name, choice.reason);
}

std::unique_ptr<Transport> mpi_transport() { return std::make_unique<MpiTransport>(); }

ChosenTransport agree_on_transport(Communicator& world, const std::string& wish,
                                   std::optional<int> device, std::size_t work_bytes) {
  std::array<char, 256> node{};
  ::gethostname(node.data(), node.size() - 1);
  const RankDevice own = device ? rank_device(*device) : RankDevice{};
  const auto nodes = world.gather_all(node.data()), devices = world.gather_all(own.device),
             obstacles = world.gather_all(own.no_nccl);
  const auto host = world.split_by_host();
  const auto hosts = lowest_on_node(world, *host);
  std::vector<RankDevice> ranks;
  for (std::size_t r = 0; r < nodes.size(); ++r)
    ranks.push_back({nodes[r], devices[r], obstacles[r], hosts[r]});
  const TransportChoice choice = choose_transport(wish, ranks);
  return {device ? device_transport(choice.transport, *device, work_bytes) : mpi_transport(),
          choice};
}

}  // namespace rollcall::comm
