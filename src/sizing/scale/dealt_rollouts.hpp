// Deals the rollouts of a simulated step to generation ranks, and to the ranks that store them.
#pragma once

#include "comm/stage_layout.hpp"
#include "sizing/scale/job_step.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rollcall::sizing::scale {

/// The work that one generation rank has to sample.
struct GenerationShare {
  std::int64_t longest = 0;  ///< tokens of its longest response
  std::int64_t tokens = 0;   ///< tokens of all its responses
  std::int64_t rollouts = 0, groups = 0;
};

/// The work that one aggregator has to store.
struct AggregatedFile {
  std::size_t parts = 0;      ///< shards that become this file, including its own
  std::int64_t rollouts = 0;  ///< rollouts in all of these shards
};

struct DealtRollouts {
  std::vector<GenerationShare> shares{};  ///< [generation ranks]
  std::vector<int> generating{};          ///< [nodes] number of ranks there that have rollouts
  std::size_t sharing = 0;                ///< number of ranks in the job that have rollouts
  double tokens = 0.0;                    ///< tokens of all responses
  bool kept = false;                      ///< all ranks generate, score and update: shards stay
                                          ///< in memory until the update
  std::vector<int> storing{};             ///< [generation ranks] aggregator of each, if kept
  std::map<int, AggregatedFile> files{};  ///< by aggregator, if kept
  /// Number of notices of scored files that rank 0 receives.
  std::size_t notices() const { return kept ? files.size() : sharing; }
};

/// Deals groups as the coordinator does: in order, keeping each group whole. Of n rollouts and R
/// generation ranks, the group that begins with rollout r goes to rank number r * R / n, rounded
/// down. Response lengths are drawn from `work.lengths`.
DealtRollouts deal_rollouts(const comm::StageLayout& layout, int ranks_per_node,
                            const Workload& work);

}  // namespace rollcall::sizing::scale
