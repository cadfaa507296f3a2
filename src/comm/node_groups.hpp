// How a buffer that is cut into shares is spread over nodes: which rank owns which share, which
// ranks share memory, and which ones exchange with other nodes.
#pragma once

#include "comm/communicator.hpp"
#include "comm/transport.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rollcall::comm {

/// Local rank i of every node exchanges with local rank i of the other nodes, so that each part of
/// the buffer crosses the network once per node. On a node with fewer ranks, one rank takes part
/// for each missing local rank. The shares of one local rank number lie next to each other in the
/// buffer.
struct NodeGroups {
  struct Across {
    std::unique_ptr<Communicator> ranks;
    std::unique_ptr<Collectives> over_transport;  ///< collectives of `ranks` for large buffers
    std::vector<int> shares;  ///< [ranks->size()] share that each member owns; -1 if it takes part
                              ///< for a missing rank
  };
  std::unique_ptr<Communicator> node;  ///< ranks that share memory with this one
  std::vector<int> shares;             ///< shares of the node's ranks, in the order of `node`
  int own = 0;                         ///< the share that this rank owns
  std::vector<Across> across;  ///< the exchanges that this rank takes part in, in the order in
                               ///< which they run
};
/// Without a transport (nullptr), only the groups within nodes are made. Runs on devices do so:
/// their ranks exchange shares directly, and every further NCCL communicator would take device
/// memory. Collective.
NodeGroups make_node_groups(Communicator& ranks, Transport* transport);
/// [ranks] the lowest rank on each rank's node. `node` is the group of the calling rank's node.
/// Collective.
std::vector<int> lowest_on_node(Communicator& ranks, Communicator& node);

/// [members + 1] Where the shares of the members begin in a buffer whose share s is
/// [share_offsets[s], share_offsets[s + 1]).
std::vector<std::int64_t> begins_of(const NodeGroups::Across& across,
                                    std::span<const std::int64_t> share_offsets);

}  // namespace rollcall::comm
