// What a step trained on, one file a step beside its shards: which rollouts, how strongly, and with
// what advantage. Written once the step's decision is known.
#pragma once

#include "io/shard_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <vector>

namespace rollcall::io {

/// How a rollout entered its step's update.
struct RolloutTraining {
  bool trained = true;  ///< false: it counted in its group's statistics at most
  double weight = 1.0;  ///< what the scheduler multiplied its advantage with
  /// before the first update and before that weight; NaN: none, or one a token
  double advantage = std::numeric_limits<double>::quiet_NaN();
};

/// Of all train rollouts of a step in the archive's order, those without a verdict included.
struct StepTraining {
  std::uint64_t step = 0;
  KeyColumns keys{};
  TrainingColumns columns{};
};

/// Appends a group with what became of its rollouts; groups ascend by GroupId, rollouts by sample.
void append(const Group& group, const std::vector<RolloutTraining>& rollouts, StepTraining& step);
/// [rollouts] of the group, by their samples; empty where one of them is not in the step.
std::vector<RolloutTraining> training_of(const StepTraining& step, const Group& group);

/// shards/train-<step>-00-0000-training.h5, whichever rank writes it.
FileDraft draft_training(const StepTraining& step, const RunIdentity& identity);
/// Throws StorageError naming file and fault.
StepTraining read_training(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
