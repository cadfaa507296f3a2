// What a shard file's name says: purpose, step, round, producer, and whether it holds the scores.
#pragma once

#include "core/rollout.hpp"

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// Ordered as the archive is: purpose, step, round, producer; scores after their shard.
struct ShardName {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0, producer = 0;
  bool scores = false;
  auto operator<=>(const ShardName&) const = default;

  std::string path() const;  ///< relative to the run folder: shards/train-000012-00-0003.h5
  static std::optional<ShardName> parse(const std::filesystem::path& path);
};

/// The published shard and score files of a run, in order.
std::vector<ShardName> list_shards(const std::filesystem::path& run_dir);

}  // namespace rollcall::io
