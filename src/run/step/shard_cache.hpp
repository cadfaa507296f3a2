// Scored shards that stay in the memory of their rank until the update, which then neither reads
// them back nor waits for their files.
#pragma once

#include "core/rollout.hpp"
#include "run/step/shard_writer.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace rollcall::run {

class ShardCache {
 public:
  explicit ShardCache(const std::filesystem::path& run_dir) : writer_(run_dir) {}
  /// Writes the files of the shards in this cache. The end of the step's update waits for it, so
  /// that a step is reported and saved only after its files are stored.
  ShardWriter& writer() { return writer_; }
  /// Keeps a shard under the path of its file, without the texts of rollouts, which the archive
  /// has.
  void keep(const std::string& path, RolloutShard shard, ScoredShard scores) {
    for (auto& group : shard.groups)
      for (auto& rollout : group.rollouts) std::string().swap(rollout.text);
    shards_.insert_or_assign(path, std::pair(std::move(shard), std::move(scores)));
  }
  std::optional<std::pair<RolloutShard, ScoredShard>> take(const std::string& path) {
    auto found = shards_.extract(path);
    if (found.empty()) return std::nullopt;
    return std::move(found.mapped());
  }
  void clear() { shards_.clear(); }

 private:
  ShardWriter writer_;
  std::map<std::string, std::pair<RolloutShard, ScoredShard>> shards_;
};

}  // namespace rollcall::run
