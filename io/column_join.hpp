// Joins shards of whole steps into the archive's order column by column, without building rollouts.
// Private to io.
#pragma once

#include "io/column_pieces.hpp"
#include "io/mapped_shard.hpp"

#include <string>
#include <vector>

namespace rollcall::io {

/// The columns of an archive file: pieces of the shards' columns, which must outlive this object,
/// and the few columns that joining changes.
struct JoinedColumns {
  KeyColumns keys{};
  std::vector<std::uint32_t> planned{};
  TrainingColumns training{};
  std::vector<std::string> component_names{};
  std::vector<ColumnPieces> columns{};  ///< in the order of views(keys, rollouts, scores, training)
};

/// Orders and joins groups as canonical() does: groups by (step, prompt, draw), rollouts by sample.
/// Throws StorageError when shards contradict each other. The shards must have the same component
/// names. `training` says how the update used the rollouts of these steps; rollouts of steps that
/// it lacks become unrecorded.
JoinedColumns join(const std::vector<MappedShard>& shards,
                   const std::vector<StepTraining>& training = {});

}  // namespace rollcall::io
