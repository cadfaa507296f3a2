// Shards of whole steps joined into the archive's order column by column, without making a rollout
// of any row. Private to io.
#pragma once

#include "io/column_pieces.hpp"
#include "io/mapped_shard.hpp"

#include <string>
#include <vector>

namespace rollcall::io {

/// The columns of an archive file: pieces of the shards' columns, which have to outlive it, and the
/// few that joining changes.
struct JoinedColumns {
  KeyColumns keys{};
  std::vector<std::uint32_t> planned{};
  TrainingColumns training{};
  std::vector<std::string> component_names{};
  std::vector<ColumnPieces> columns{};  ///< in the order of views(keys, rollouts, scores, training)
};

/// As canonical() orders and joins groups: by (step, prompt, draw), rollouts by sample. Throws
/// StorageError when shards contradict each other. The shards must have the same component names.
/// `training`: what steps of theirs trained on; rollouts of other steps are unrecorded.
JoinedColumns join(const std::vector<MappedShard>& shards,
                   const std::vector<StepTraining>& training = {});

}  // namespace rollcall::io
