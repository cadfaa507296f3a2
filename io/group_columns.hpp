// Groups as columns and back. Private to io.
#pragma once

#include "io/shard_file.hpp"

#include <vector>

namespace rollcall::io {

/// Appends one group to every table.
void append(const Group& group, KeyColumns& keys);
void append(const Group& group, const ShardPrompt& prompt, float temperature,
            RolloutColumns& rollouts);
void append(const std::vector<Score>& scores, std::size_t components, ScoreColumns& columns);

/// The rollouts' own pointers to their group must say what the counts say. Throws FileFault.
void check_group_rows(const KeyColumns& keys);
/// Rows ascend as in an archive: groups by step, prompt and draw, rollouts by sample. Throws
/// FileFault.
void check_order(const KeyColumns& keys);

/// The groups again; the columns must have passed TableReader. Throws FileFault when rollouts.group
/// contradicts the counts.
std::vector<Group> groups_of(const KeyColumns& keys, const RolloutColumns& rollouts);
std::vector<ShardPrompt> prompts_of(const RolloutColumns& rollouts);
std::vector<std::vector<Score>> scores_of(const KeyColumns& keys, const ScoreColumns& columns,
                                          std::size_t components);

}  // namespace rollcall::io
