// A buffer in shares among ranks on nodes: which share is whose, who has memory in common, and who
// exchanges with other nodes.
#pragma once

#include "comm/communicator.hpp"
#include "comm/transport.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::comm {

/// Ranks of the same place on their nodes exchange side by side, so that each stretch of the buffer
/// enters a node once; a rank stands in for places that its node does not have. Shares of a place
/// are neighbours in the buffer.
struct NodeGroups {
  struct Across {
    std::unique_ptr<Communicator> ranks;
    std::unique_ptr<Collectives> by_carrier;  ///< the same, for what is large
    std::vector<int> shares;  ///< [ranks->size()] that a member owns; -1: it stands in
  };
  std::unique_ptr<Communicator> node;  ///< ranks that have memory in common with this one
  std::vector<int> shares;             ///< of the node's ranks, in their order
  int own = 0;                         ///< this rank's share
  std::vector<Across> across;          ///< the exchanges that this rank takes part in, in order
};
/// Collective. Without a transport the groups are those of the node alone: devices exchange by
/// rank, and
/// each communicator of NCCL takes memory of theirs.
NodeGroups make_node_groups(Communicator& ranks, Transport* transport);
/// [ranks] the lowest rank of each rank's node, of which `node` is the caller's. Collective.
std::vector<int> lowest_on_node(Communicator& ranks, Communicator& node);

/// Where the members' shares begin in a buffer of which share s is [begins[s], begins[s + 1]):
/// [members + 1].
std::vector<std::int64_t> begins_of(const NodeGroups::Across& across,
                                    std::span<const std::int64_t> begins);

}  // namespace rollcall::comm
