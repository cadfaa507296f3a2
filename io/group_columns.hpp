// Converts groups to columns and back. Private to io.
#pragma once

#include "io/shard_file.hpp"

#include <vector>

namespace rollcall::io {

/// Appends one group to every table.
void append(const Group& group, KeyColumns& keys);
void append(const Group& group, const ShardPrompt& prompt, float temperature,
            RolloutColumns& rollouts);
void append(const std::vector<Score>& scores, std::size_t components, ScoreColumns& columns);

/// Throws FileFault unless column rollouts.group agrees with the counts of rollouts per group.
void check_group_rows(const KeyColumns& keys);
/// Throws FileFault unless rows ascend as in an archive: groups by step, prompt and draw, rollouts
/// by sample.
void check_order(const KeyColumns& keys);

/// Builds the groups from columns that TableReader has checked. Throws FileFault when
/// rollouts.group contradicts the counts, or for what check_conversations() refuses.
std::vector<Group> groups_of(const KeyColumns& keys, const RolloutColumns& rollouts);
std::vector<ShardPrompt> prompts_of(const RolloutColumns& rollouts);
std::vector<std::vector<Score>> scores_of(const KeyColumns& keys, const ScoreColumns& columns,
                                          std::size_t components);

}  // namespace rollcall::io
