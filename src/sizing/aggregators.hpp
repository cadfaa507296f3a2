// Which ranks store the shards of others on their node.
#pragma once

#include "comm/stage_layout.hpp"
#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::sizing {

/// At most so many ranks have one aggregator, which alone builds their file.
inline constexpr std::size_t kMostAggregated = 8;

/// Whether shards that are trained on wait for those of other ranks: every rank keeps for its
/// update what it has judged, and verdicts come at once and for nothing. Where they are dear (code,
/// a command, a model that judges), each rank stores its own as soon as they are there.
bool aggregates(const RunConfig& config, const comm::StageLayout& layout);
/// So many tokens are aggregated at most: a message holds 2 GiB, and the file of so many takes no
/// notice of what a file costs.
inline constexpr std::int64_t kMostAggregatedTokens = std::int64_t{1} << 24;

/// The aggregator of each of these ranks (world ranks, ascending): the first of up to
/// kMostAggregated with memory in common.
std::vector<int> aggregators(const comm::StageLayout& layout, const std::vector<int>& ranks);

}  // namespace rollcall::sizing
