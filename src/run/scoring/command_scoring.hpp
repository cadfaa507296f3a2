// Scoring by the command of the run file: shards go in, and each comes out with its scores after
// its last verdict, in any order.
#pragma once

#include "reward/command/graders.hpp"
#include "run/folder/error_files.hpp"
#include "run/scoring/pending_shard.hpp"
#include "run/workers/worker_pool.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

class CommandScoring {
 public:
  /// The command is not asked for verdicts that are known already. `pool`: progress is reported to
  /// it.
  CommandScoring(const VerdictSources& sources, const RewardSection& section,
                 const WorkerPool& pool, reward::Spawner& spawner, ErrorFiles errors);

  void add(const ShardNotice& notice, RolloutShard shard, double read_s);
  /// A shard that has all of its verdicts, if there is one. Throws what stopped the command.
  std::optional<GradedShard> take();
  /// Ends the judging and returns the notices of the shards that lack verdicts. Nothing may be
  /// added or taken afterwards.
  std::vector<ShardNotice> give_up();
  bool is_judging() const { return !open_.empty(); }

 private:
  VerdictSources sources_;
  ErrorFiles errors_;
  std::map<std::uint64_t, PendingShard> open_;  ///< by the shard's batch number in graders_
  /// The last member, so that its thread ends first; nothing after give_up()
  std::optional<reward::Graders> graders_;
};

}  // namespace rollcall::run
