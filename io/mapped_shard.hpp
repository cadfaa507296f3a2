// A shard with its scores, for packing. Small tables are read into memory, and tokens and text stay
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
  RolloutColumns rollouts{};  ///< without tokens and text, which stay in the mapped file
  ScoreColumns scores{};
  std::vector<std::string> component_names{};
  std::vector<ColumnView> columns{};  ///< all columns, in the order of views(keys, rollouts,
                                      ///< scores); valid as long as the shard exists
  /// The mapped files; the second one exists if scores have their own file.
  std::unique_ptr<MappedFile> shard_file{}, scores_file{};
};

/// Reads a shard and its scores with the checks of read_shard and read_scores, except for the
/// checksums of columns, and compares the two with each other. Throws StorageError, or
/// EnvironmentError if a program with a later minor schema version wrote one of them.
MappedShard map_shard(const std::filesystem::path& run_dir, const PackInput& input);
/// Reads the training file of a step, with the checks of map_shard(). It is small, so it is not
/// mapped.
StepTraining training_to_pack(const std::filesystem::path& run_dir, const PublishedFile& file);

}  // namespace rollcall::io
