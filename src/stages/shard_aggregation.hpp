// Shards of ranks that share a node, stored as one file: what a file costs a rank, and rank 0 its message, is paid once for several ranks. The aggregator is what
// MPI-IO calls so: the rank that writes for others.
#pragma once

#include "comm/stage_layout.hpp"
#include "stages/open_shard.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace rollcall::stages {

/// At most so many ranks have one aggregator, which alone builds their file.
inline constexpr std::size_t kMostAggregated = 8;

/// Whether shards that are trained on wait for those of other ranks: every rank keeps for its update what it has judged, and verdicts come at once and for
/// nothing. Where they are dear (code, a command, a model that judges), each rank stores its own as soon as they are there.
bool aggregates(const RunConfig& config, const comm::StageLayout& layout);
/// So many tokens are aggregated at most: a message holds 2 GiB, and the file of so many takes no notice of what a file costs.
inline constexpr std::int64_t kMostAggregatedTokens = std::int64_t{1} << 24;

/// The aggregator of each of these ranks (world ranks, ascending): the first of up to kMostAggregated with memory in common.
std::vector<int> aggregators(const comm::StageLayout& layout, const std::vector<int>& ranks);

/// On the way to the aggregator and there.
JudgedPart to_part(JudgedShard judged);
/// Throws ProtocolError when the bytes of its groups are not whole.
JudgedShard from_part(JudgedPart part);

class ShardAggregation {
 public:
  /// The whole once its last part is there, groups in the order of their producers, as rank 0 has dealt them. With a part that is cut the whole is.
  std::optional<JudgedShard> add(JudgedShard part);

 private:
  using Address = std::tuple<Purpose, std::uint64_t, std::uint32_t>;  ///< purpose, step, round
  std::map<Address, std::map<std::uint32_t, JudgedShard>> parts_;     ///< by producer
};

}  // namespace rollcall::stages
