// Evaluations that were made again with another content: more samples of a prompt, or other
// prompts.
#pragma once

#include "io/archive.hpp"

#include <filesystem>
#include <vector>

namespace rollcall::io {

/// Sets archive files of evaluations and validations aside whose steps `shards` hold otherwise, so
/// that these can be packed in their place. A file stays where all of its steps have the same
/// content there, where a step is not among the shards, or where shards are gone, as they are once
/// they are packed. Returns how many were set aside. Throws StorageError.
int give_way_to(const std::vector<PackInput>& shards, const std::filesystem::path& run_dir);

/// Publishes the other steps of the archive file that holds `step`, as shards again, so that the
/// file can give way. Empty where it holds no other. Until a checkpoint names them, a next start
/// sets
/// them aside and the archive file counts. Throws StorageError.
struct ShardAgain {
  std::uint64_t step = 0;
  PublishedFile file;  ///< rollouts and scores
};
std::vector<ShardAgain> publish_neighbours(const std::filesystem::path& run_dir, Purpose purpose,
                                           std::uint64_t step, const RunIdentity& identity);

}  // namespace rollcall::io
