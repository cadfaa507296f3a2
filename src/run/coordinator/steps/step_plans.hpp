// The plans of a step as rank 0 sends them: to each rank what is its own, so that time and bytes
// grow with the step plus the ranks, and not with their product.
#pragma once

#include "comm/stage_layout.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rollcall::run {

/// Groups of a plan dealt to `ranks` generation ranks as contiguous stretches of about equal
/// rollouts, one per rank; some may be empty. They are views of `groups`.
std::vector<std::span<const GroupPlan>> deal(std::span<const GroupPlan> groups, std::size_t ranks);

/// Sends every generation rank that has a share of a round that share, and what all shares have in
/// common. `together`: ranks that have memory in common may store what they sample as one file.
/// Returns the number of files that come of it, each of which one notice will tell of.
std::size_t send_round(Mailbox& mail, const comm::StageLayout& layout, StepPlan plan,
                       const StepTimes& times, bool together);

/// Sends the update ranks (world ranks, ascending) the plan `head` of an update with the files that
/// each of them reads; the first one also gets the others' files, and how each group trains.
void send_update(Mailbox& mail, const std::vector<int>& ranks, UpdatePlan head,
                 std::vector<ScoredFile> files, std::vector<scheduling::GroupTraining> training);

}  // namespace rollcall::run
