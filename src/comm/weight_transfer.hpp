// How new weights travel from update ranks to the ranks that need them: a plan, which is a pure
// function, and its execution.
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

/// A range of the floats of one tensor, in the flat buffer of all weights.
struct WeightSlice {
  std::string name;
  std::int64_t offset = 0, count = 0;  ///< [floats]; the offset counts from the buffer's beginning
};

/// What one root sends to its receivers.
struct TransferBatch {
  int root = 0;                ///< world rank
  std::vector<int> receivers;  ///< world ranks, ascending, root excluded
  std::vector<WeightSlice> slices;
};

/// Pure. Cuts the slices, in their order, into shares of equal size, one for each of up to eight
/// update ranks, which are the roots. A slice that crosses a cut is in both shares. The receivers
/// are one generation rank of each node without an update rank. The plan is empty when there is no
/// such node.
std::vector<TransferBatch> plan_transfer(const StageLayout& layout,
                                         const std::vector<WeightSlice>& slices);

/// Gives every rank's share of `values` to all ranks, and compares each share that arrived with the
/// checksum of the rank that owns it. Share r is [share_offsets[r], share_offsets[r + 1]).
/// `over_transport` are the collectives of `ranks` for large buffers. Collective. Throws
/// ProtocolError if a checksum differs.
void gather_checked(Communicator& ranks, Collectives& over_transport, std::span<float> values,
                    std::span<const std::int64_t> share_offsets);

/// Executes a plan: every batch is a broadcast from its root to its receivers, and all batches run
/// at the same time if the transport can. The root's version and number of weights go ahead of the
/// weights, and a checksum of every range follows them, always over groups split from `world` and
/// never over the transport. A receiver that finds a difference throws ProtocolError.
class WeightTransfer {
 public:
  /// Collective over the world, because it makes the groups. `transport` may be one for device
  /// memory.
  WeightTransfer(Communicator& world, std::vector<TransferBatch> plan,
                 std::shared_ptr<Transport> transport = mpi_transport());
  ~WeightTransfer();
  /// Sends or receives `weights`. Collective over the ranks of the plan; other ranks return at
  /// once.
  void run(std::span<float> weights, std::uint64_t version);
  bool takes_part() const;  ///< whether this rank is a root or a receiver

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rollcall::comm
