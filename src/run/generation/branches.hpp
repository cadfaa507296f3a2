// Rollouts that begin like others of their group: forks and exits.
#pragma once

#include "model/decode/replies.hpp"
#include "run/generation/open_rollouts.hpp"

#include <cstddef>
#include <vector>

namespace rollcall::run {

/// The branches of a turn that has ended: its forks or, where it ends the way that exits leave,
/// those. To be called once for each turn, before its conversation hears of it. The rollouts that
/// the branches become are ready in `rollouts` then.
std::vector<model::Branch> branches_of(OpenRollouts& rollouts, const model::SequencePlace& place,
                                       const model::DecodedSequence& so_far, std::size_t turn);

}  // namespace rollcall::run
