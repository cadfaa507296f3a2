// How a transfer is planned, and how it runs as broadcasts in groups of a root and its receivers.
#include "comm/weight_transfer.hpp"

#include "base/errors/error.hpp"
#include "base/numbers/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace rollcall::comm {
namespace {

/// A receiver's link limits the transfer, whatever the number of roots. Eight roots spread the
/// reading over nodes, and each costs a communicator.
constexpr std::int64_t kMostRoots = 8;

/// Lays the slices end to end and returns the floats [first, last) of that sequence, as slices.
std::vector<WeightSlice> cut(const std::vector<WeightSlice>& slices, std::int64_t first,
                             std::int64_t last) {
  std::vector<WeightSlice> pieces;
  std::int64_t start = 0;  // position of the current slice in that sequence
  for (const WeightSlice& slice : slices) {
    const std::int64_t from = std::max(first, start), to = std::min(last, start + slice.count);
    if (from < to) pieces.push_back({slice.name, slice.offset + (from - start), to - from});
    start += slice.count;
  }
  return pieces;
}

/// Joins slices that are neighbours in the buffer, for few large broadcasts instead of one per
/// tensor.
std::vector<WeightSlice> merged(const std::vector<WeightSlice>& slices) {
  std::vector<WeightSlice> stretches;
  for (const WeightSlice& slice : slices) {
    if (!stretches.empty() && stretches.back().offset + stretches.back().count == slice.offset)
      stretches.back().count += slice.count;
    else stretches.push_back(slice);
  }
  return stretches;
}

void compare(Communicator& ranks, int root, std::uint64_t own, std::size_t bytes) {
  std::array<std::uint64_t, 1> sent{own};
  ranks.broadcast(std::as_writable_bytes(std::span(sent)), root);
  require<ProtocolError>(
      own == sent[0],
      fmt::format("{} bytes of weights arrived with checksum {}, but were sent with {}", bytes,
                  hex64(own), hex64(sent[0])),
      "this rank would work with a policy that nobody made",
      "look at the network and the memory of this node, then resume from the last checkpoint");
}

}  // namespace

std::vector<TransferBatch> plan_transfer(const StageLayout& layout,
                                         const std::vector<WeightSlice>& slices) {
  const std::vector<int>& sources = layout.of(Stage::update);
  std::vector<int> receivers;
  std::set<int> reached;  // nodes that have an update rank or a receiver
  for (const int source : sources) reached.insert(layout.node_of(source));
  for (const int reader : layout.of(Stage::generation)) {
    if (reached.insert(layout.node_of(reader)).second) receivers.push_back(reader);
  }
  if (receivers.empty()) return {};
  const std::int64_t roots = std::min<std::int64_t>(kMostRoots, std::int64_t(sources.size()));
  const std::int64_t total =
      std::accumulate(slices.begin(), slices.end(), std::int64_t{0},
                      [](std::int64_t n, const WeightSlice& s) { return n + s.count; });
  std::vector<TransferBatch> plan;
  for (std::int64_t k = 0; k < roots; ++k) {
    // roots are spread over the update ranks, and so over nodes
    const int root = sources[std::size_t(k * std::int64_t(sources.size()) / roots)];
    TransferBatch batch{root, receivers, cut(slices, total * k / roots, total * (k + 1) / roots)};
    if (!batch.slices.empty()) plan.push_back(std::move(batch));
  }
  return plan;
}

void gather_checked(Communicator& ranks, Collectives& over_transport, std::span<float> values,
                    std::span<const std::int64_t> share_offsets) {
  over_transport.gather_shares(values, share_offsets);
  for (int root = 0; root < ranks.size(); ++root) {
    const auto first = std::size_t(share_offsets[std::size_t(root)]),
               last = std::size_t(share_offsets[std::size_t(root) + 1]);
    if (first == last) continue;
    const auto share = std::as_bytes(values.subspan(first, last - first));
    compare(ranks, root, checksum64(share), share.size());
  }
}

struct WeightTransfer::State {
  struct Leg {
    std::unique_ptr<Communicator> ranks;          ///< root and receivers
    std::unique_ptr<Collectives> over_transport;  ///< collectives of `ranks` for large buffers
    int root = 0;                                 ///< the root's rank in `ranks`
    std::vector<WeightSlice> stretches;
  };
  int world_rank = 0;
  std::shared_ptr<Transport> transport;
  std::vector<Leg> legs;  ///< batches that this rank takes part in
};

WeightTransfer::WeightTransfer(Communicator& world, std::vector<TransferBatch> plan,
                               std::shared_ptr<Transport> transport)
    : state_(std::make_unique<State>()) {
  state_->world_rank = world.rank(), state_->transport = std::move(transport);
  for (const TransferBatch& batch : plan) {
    std::vector<int> members = batch.receivers;
    const auto place =
        members.insert(std::lower_bound(members.begin(), members.end(), batch.root), batch.root);
    const int root = int(place - members.begin());
    const bool member = std::binary_search(members.begin(), members.end(), world.rank());
    auto ranks = world.split(member ? 0 : -1);
    if (!member) continue;
    auto over_transport = state_->transport->over(*ranks);
    state_->legs.push_back(
        {std::move(ranks), std::move(over_transport), root, merged(batch.slices)});
  }
}

WeightTransfer::~WeightTransfer() = default;

bool WeightTransfer::takes_part() const { return !state_->legs.empty(); }

void WeightTransfer::run(std::span<float> weights, std::uint64_t version) {
  std::size_t rounds = 0;
  for (const State::Leg& leg : state_->legs) {
    std::array<std::uint64_t, 2> header{version, weights.size()};
    leg.ranks->broadcast(std::as_writable_bytes(std::span(header)), leg.root);
    require<ProtocolError>(
        header[0] == version && header[1] == weights.size(),
        fmt::format("rank {} receives {} weights of version {} where {} of version {} are due",
                    state_->world_rank, header[1], header[0], weights.size(), version),
        "it would generate with a policy that nobody recorded",
        "this is a bug in the order of steps; please report it with the log");
    for (const WeightSlice& stretch : leg.stretches)
      expect(stretch.offset >= 0 && stretch.offset + stretch.count <= std::int64_t(weights.size()),
             "a slice lies inside the weights");
    rounds = std::max(rounds, leg.stretches.size());
  }
  const auto bytes_of = [&](const WeightSlice& stretch) {
    return std::as_writable_bytes(
        weights.subspan(std::size_t(stretch.offset), std::size_t(stretch.count)));
  };
  for (std::size_t i = 0; i < rounds; ++i) {  // broadcasts the i-th range of every batch together
    std::vector<Broadcast> side_by_side;
    for (const State::Leg& leg : state_->legs)
      if (i < leg.stretches.size())
        side_by_side.push_back({leg.over_transport.get(), leg.root, bytes_of(leg.stretches[i])});
    state_->transport->broadcast(side_by_side);
  }
  for (const State::Leg& leg : state_->legs)
    for (const WeightSlice& stretch : leg.stretches)
      compare(*leg.ranks, leg.root, state_->transport->checksum(bytes_of(stretch)),
              stretch.count * sizeof(float));
}

}  // namespace rollcall::comm
