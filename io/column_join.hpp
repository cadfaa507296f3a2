// Shards of whole steps joined into the archive's order column by column, without making a rollout of any row. Private to io.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace rollcall::io {

/// The columns of a shard and its scores; or of an archive file.
struct ScoredColumns {
  KeyColumns keys;
  RolloutColumns rollouts;
  ScoreColumns scores;
  std::vector<std::string> component_names;
};

/// Checked as read_shard and read_scores check them, and against each other. Throws StorageError.
ScoredColumns read_scored_columns(const std::filesystem::path& run_dir, const PackInput& input);

/// As canonical() orders and joins groups: by (step, prompt, draw), rollouts by sample. Throws StorageError when shards contradict each other.
/// The shards must have the same component names.
ScoredColumns join(const std::vector<ScoredColumns>& shards);

}  // namespace rollcall::io
