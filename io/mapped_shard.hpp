// A shard with its scores for packing: the small tables in memory, tokens and texts where they lie
// in the mapped files. Private to io.
#pragma once

#include "io/archive.hpp"
#include "io/mapped_file.hpp"
#include "io/table_file.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::io {

struct MappedShard {
  KeyColumns keys{};
  RolloutColumns rollouts{};  ///< without tokens and texts, as are the scores
  ScoreColumns scores{};
  std::vector<std::string> component_names{};
  std::vector<ColumnView> columns{};  ///< all, in the order of views(keys, rollouts, scores); valid
                                      ///< as long as the shard
  /// the second: where scores have a file of their own
  std::unique_ptr<MappedFile> shard_file{}, scores_file{};
};

/// Checked as read_shard and read_scores check them, but for the checksums of columns, and against
/// each other. Throws StorageError, EnvironmentError where a program with a later minor version of
/// the schema wrote one of them.
MappedShard map_shard(const std::filesystem::path& run_dir, const PackInput& input);
/// What a step trained on, checked alike. It is small.
StepTraining training_to_pack(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
