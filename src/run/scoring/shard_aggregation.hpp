// Shards of ranks that share a node, stored as one file: what a file costs a rank, and rank 0 its
// message, is paid once for several ranks. The aggregator is what MPI-IO calls so: the rank that
// writes for others.
#pragma once

#include "run/scoring/pending_shard.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace rollcall::run {

/// On the way to the aggregator and there.
GradedPart to_part(GradedShard judged);
/// Throws ProtocolError when the bytes of its groups are not whole.
GradedShard from_part(GradedPart part);

class ShardAggregation {
 public:
  /// The whole once its last part is there, groups in the order of their producers, as rank 0 has
  /// dealt them. With a part that is cut the whole is.
  std::optional<GradedShard> add(GradedShard part);

 private:
  using Address = std::tuple<Purpose, std::uint64_t, std::uint32_t>;  ///< purpose, step, round
  std::map<Address, std::map<std::uint32_t, GradedShard>> parts_;     ///< by producer
};

}  // namespace rollcall::run
