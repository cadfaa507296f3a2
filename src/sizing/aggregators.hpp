// Finds the ranks that store the shards of other ranks on their node.
#pragma once

#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::sizing {

/// The largest number of ranks per aggregator, which builds and writes one file for all of them.
inline constexpr std::size_t kMostAggregated = 8;

/// Whether ranks hand their shards to an aggregator. They do if every rank keeps the shards that it
/// has scored in memory for its own update, and verdicts are immediate and cheap. If verdicts are
/// costly (code, a command, a judge model), each rank stores its own shard as soon as it has its
/// verdicts.
bool aggregates(const RunConfig& config, const comm::StageLayout& layout);
/// The largest number of tokens that are aggregated. A message holds at most 2 GiB, and with this
/// many tokens the fixed cost of a file no longer matters.
inline constexpr std::int64_t kMostAggregatedTokens = std::int64_t{1} << 24;

/// The aggregator of each rank of `ranks`, which are world ranks in ascending order: the first of
/// up to kMostAggregated ranks that share memory.
std::vector<int> aggregators(const comm::StageLayout& layout, const std::vector<int>& ranks);

}  // namespace rollcall::sizing
