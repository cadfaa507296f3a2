// The name of a shard file: purpose, step, round, producer, and whether it holds rollouts, scores,
// both, or how their step trained on them.
#pragma once

#include "core/rollout.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::io {

/// Rollouts and scores are in one file if one rank makes both, and in two files if another rank
/// scores. The training file of a step is a further file. It has round 0 and producer 0, no matter
/// which rank writes it.
enum class Holds : std::uint8_t { rollouts, scores, both, training };
/// [Holds] The attribute `kind` of each kind of file.
inline constexpr std::array<const char*, 4> kKinds{"shard", "scores", "scored", "training"};

/// Names have the order of the archive: purpose, step, round, producer. Scores follow their shard.
struct ShardName {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  std::uint32_t round = 0, producer = 0;
  Holds holds = Holds::rollouts;
  auto operator<=>(const ShardName&) const = default;

  std::string path() const;  ///< relative to the run folder: shards/train-000012-00-0003.h5, with
                             ///< -scores, -scored or -training before the ending
  static std::optional<ShardName> parse(const std::filesystem::path& path);
};

/// The published shard and score files of a run, in order.
std::vector<ShardName> list_shards(const std::filesystem::path& run_dir);

}  // namespace rollcall::io
