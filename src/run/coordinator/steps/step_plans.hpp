// Sends the plans of a step. Each rank gets only its own share, so that time and bytes on rank 0
// grow with the step plus the ranks, and not with their product.
#pragma once

#include "comm/stage_layout.hpp"
#include "run/messages/mailbox.hpp"
#include "run/messages/messages.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::run {

/// Deals the groups of a plan to `ranks` generation ranks: one contiguous stretch for each, with
/// about equal numbers of rollouts. Some may be empty. The stretches are views of `groups`.
std::vector<std::span<const GroupPlan>> deal(std::span<const GroupPlan> groups, std::size_t ranks);

/// Sends every generation rank its share of the round, if it has one, and the part that all shares
/// have in common. `together`: ranks that share memory may store what they sample as one file,
/// unless that were too large at `answer_tokens` for each rollout. Returns the number of files that
/// will come back, each with one notice.
std::size_t send_round(Mailbox& mail, const comm::StageLayout& layout, StepPlan plan,
                       const StepTimes& times, bool together, std::int64_t answer_tokens);

/// Sends the plan `head` to the update ranks (world ranks, ascending), each with the files that it
/// reads. The first one also gets the files of the others, and how each group trains.
void send_update(Mailbox& mail, const std::vector<int>& ranks, UpdatePlan head,
                 std::vector<ScoredFile> files, std::vector<scheduling::GroupTraining> training);

}  // namespace rollcall::run
