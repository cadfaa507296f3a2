// Judged shards that wait on their rank for the update: what a rank has in memory it need not read
// back, nor has it to wait for the file.
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
  /// Of their files, which the end of the step's update waits for: what it taught is reported, and
  /// saved, once they are stored.
  ShardWriter& writer() { return writer_; }
  /// By the path of the shard's file. The rollouts' texts stay in the archive.
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
