// How a new policy travels from update ranks to the ranks that need it: named slices and a pure
// source-to-destination plan.
#pragma once

#include "comm/communicator.hpp"
#include "comm/stage_layout.hpp"
#include "comm/transport.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rollcall::comm {

/// A stretch of the flat weight buffer under the tensor's name.
struct WeightSlice {
  std::string name;
  std::int64_t offset = 0, count = 0;  ///< floats
};

/// Slices that one root sends to the same set of receivers in one collective.
struct TransferBatch {
  int root = 0;                ///< world rank
  std::vector<int> receivers;  ///< world ranks, ascending, root excluded
  std::vector<WeightSlice> slices;
};

/// Pure: the flat order of the slices is cut into equal shares, one for each of up to eight update
/// ranks as roots (a slice that lies across a cut occurs in both shares). One rank of each node
/// that generates and does not update receives them. Empty when there is no such node.
std::vector<TransferBatch> plan_transfer(const StageLayout& layout,
                                         const std::vector<WeightSlice>& slices);

/// Gives every rank's share to all, `by_carrier` for `ranks`, and compares what arrived with its
/// owner's checksum. Share r is [begins[r], begins[r + 1]). Collective. Throws ProtocolError where
/// they differ.
void gather_checked(Communicator& ranks, Collectives& by_carrier, std::span<float> values,
                    std::span<const std::int64_t> begins);

/// Executes a plan over the world's communicator; called by every rank that occurs in it. The
/// batches travel side by side where the transport can; the version and the checksum of every
/// stretch, made by who wrote it, go by the world's own way and are compared on arrival
/// (ProtocolError).
class WeightTransfer {
 public:
  /// Collective over the world: makes the groups. `transport`: also for buffers of its device.
  WeightTransfer(Communicator& world, std::vector<TransferBatch> plan,
                 std::shared_ptr<Transport> transport = mpi_transport());
  ~WeightTransfer();
  /// collective over the ranks of the plan; others return at once
  void run(std::span<float> weights, std::uint64_t version);
  bool takes_part() const;  ///< this rank is a root or a receiver

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::comm
