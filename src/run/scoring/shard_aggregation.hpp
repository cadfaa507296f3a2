// Shards of several ranks of a node, stored as one file by one of them, the aggregator (the name is
// that of MPI-IO). One file and one message to rank 0 then serve all of these ranks.
#pragma once

#include "run/scoring/pending_shard.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace rollcall::run {

/// Turns a scored shard into the message in which it travels to the aggregator.
GradedPart to_part(GradedShard judged);
/// Turns that message into the shard again. Throws ProtocolError when the bytes of the groups are
/// damaged or incomplete.
GradedShard from_part(GradedPart part);

class ShardAggregation {
 public:
  /// Takes a part in. Returns the whole shard after its last part: groups in the order of their
  /// producers, in which rank 0 dealt them. If one part was cut, the whole shard is.
  std::optional<GradedShard> add(GradedShard part);

 private:
  using Address = std::tuple<Purpose, std::uint64_t, std::uint32_t>;  ///< purpose, step, round
  std::map<Address, std::map<std::uint32_t, GradedShard>> parts_;     ///< by producer
};

}  // namespace rollcall::run
