// Chooses the groups of earlier steps on which a step trains again. It is a pure function of
// numbers.
#pragma once

#include "base/numbers/id.hpp"
#include "core/rollout.hpp"
#include "core/run_config.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// A group from an earlier step that may be trained on again, as the choice sees it.
struct ReplayCandidate {
  GroupId id;
  std::uint64_t version = 0;  ///< optimizer steps of the policy that sampled it
  double advantage = 0.0;     ///< mean of |reward - mean| over its rollouts
};

/// The step that is to train on groups of earlier steps.
struct ReplayRequest {
  std::uint64_t seed = 0, step = 0;
  std::uint64_t version = 0;    ///< optimizer steps of the policy that the step trains
  std::size_t fresh = 0;        ///< groups that the step sampled itself
  std::size_t fresh_equal = 0;  ///< fresh groups whose rewards are all equal
};

/// Indices into `candidates` (which ascend by GroupId), ascending. There are at most
/// share / (1 - share) times `fresh` of them, all within the staleness limit. With
/// distinct_prompts, only the newest such group of a prompt may be chosen. They are chosen:
///   uniform    at random without replacement, with equal chances
///   newest     from the latest steps
///   advantage  at random without replacement, with chances in proportion to the advantage, and at
///              most `fresh_equal` of them. This is the selective sample buffer of Skywork R1V2,
///              arXiv:2504.16656, which fills the places of groups that teach nothing.
std::vector<std::size_t> choose_replay(const ReplaySection& settings, const ReplayRequest& request,
                                       const std::vector<ReplayCandidate>& candidates);

}  // namespace rollcall::scheduling
