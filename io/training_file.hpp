// Records how a step trained on its rollouts: on which of them, and with what weight and advantage.
// There is one file per step beside its shards, which is written when the step's decision is known.
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
  bool trained = true;  ///< false: the rollout counted in its group's statistics at most
  double weight = 1.0;  ///< the scheduler's factor on the rollout's advantage
  /// Advantage before the first update and before that weight; NaN: none, or one per token.
  double advantage = std::numeric_limits<double>::quiet_NaN();
  bool left = false;  ///< it counted in no group's statistics either; `trained` is false then
};

/// All train rollouts of a step in the archive's order, including those without a verdict.
struct StepTraining {
  std::uint64_t step = 0;
  KeyColumns keys{};
  TrainingColumns columns{};
};

/// Appends a group with the training of its rollouts; groups ascend by GroupId, rollouts by sample.
void append(const Group& group, const std::vector<RolloutTraining>& rollouts, StepTraining& step);
/// [rollouts] The training of the group's rollouts; empty if one of them is not in the step.
std::vector<RolloutTraining> training_of(const StepTraining& step, const Group& group);

/// The draft of shards/train-<step>-00-0000-training.h5; the name is the same for every rank.
FileDraft draft_training(const StepTraining& step, const RunIdentity& identity);
/// Throws StorageError naming file and fault.
StepTraining read_training(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
