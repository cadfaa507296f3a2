// Decides which rollouts of derived groups train, and which rollouts of their parents leave.
#pragma once

#include "core/plan.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::run {

/// Adds to what the scheduler has decided, for each parent by the placement of the groups that were
/// made of it (core/derivation.hpp):
///   joins_parent     the `keep` rollouts with the largest reward train (equal ones: the first),
///                    the others leave; 0, and tiers of help: all train
///   replaces_parent  all train, of tiers those of the last one with a verdict, and the parent's
///                    rollouts leave
///   replaces_one     correct rollouts train, each in place of one failure of the parent, which
///                    leaves; the first ones of both (of tiers one rollout, of the lowest tier that
///                    has a correct one); the others leave
///   trains_nowhere   all leave
/// Nothing changes where a parent, or everything that was made of it, has no verdict. `reports`: of
/// all groups of the step, ascending by GroupId, with the rewards that the update trains on.
/// GroupTraining::keep gets kLeaves (run/step/placed_groups.hpp) for rollouts that leave; it counts
/// rollouts that stay in the step, in their order.
void settle_derived(scheduling::Training& training, const std::vector<GroupReport>& reports,
                    std::int64_t keep);

}  // namespace rollcall::run
