// Evaluations that were repeated with different content: more samples of a prompt, or other
// prompts.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <vector>

namespace rollcall::io {

/// Sets aside archive files of evaluations and validations if `shards` have different content for
/// their steps, so that the shards can be packed instead. A file stays if all of its steps have the
/// same content in the shards, if a step is not among the shards, or if shards are gone because
/// they were packed. Returns the number of files that were set aside. Throws StorageError.
int give_way_to(const std::vector<PackInput>& shards, const std::filesystem::path& run_dir);

/// A step from an archive file, published as a shard again.
struct ShardAgain {
  std::uint64_t step = 0;
  PublishedFile file;  ///< rollouts and scores
};
/// Publishes the other steps of the archive file that holds `step` as shards again, so that the
/// file can be replaced. Empty if it holds no other step. Until a checkpoint names these shards,
/// the next start sets them aside, and the archive file counts. Throws StorageError.
std::vector<ShardAgain> publish_neighbours(const std::filesystem::path& run_dir, Purpose purpose,
                                           std::uint64_t step, const RunIdentity& identity);

}  // namespace rollcall::io
