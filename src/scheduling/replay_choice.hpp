// Which groups of earlier steps a step trains on again: a pure function of numbers.
#pragma once

#include "base/id.hpp"
#include "core/rollout.hpp"
#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// What is known of a group that may come back.
struct ReplayCandidate {
  GroupId id;
  std::uint64_t version = 0;  ///< of the policy that sampled it
  double advantage = 0.0;     ///< mean of |reward - mean| over its rollouts
};

/// The step that asks.
struct ReplayRequest {
  std::uint64_t seed = 0, step = 0;
  std::uint64_t version = 0;    ///< of its policy
  std::size_t fresh = 0;        ///< groups it sampled itself
  std::size_t fresh_equal = 0;  ///< of these, groups whose rewards are all equal
};

/// Places in `candidates` (which ascend by GroupId), ascending. At most share / (1 - share) times
/// `fresh`, and no more than there are within the staleness limit.
///   uniform    without replacement, all alike
///   newest     the latest steps first
///   advantage  without replacement, in proportion to the advantage, and only as many as
///   `fresh_equal`: the selective sample buffer of
///              Skywork R1V2, arXiv:2504.16656, which fills the places of groups that teach nothing
std::vector<std::size_t> choose_replay(const ReplaySection& settings, const ReplayRequest& request,
                                       const std::vector<ReplayCandidate>& candidates);

}  // namespace rollcall::scheduling
