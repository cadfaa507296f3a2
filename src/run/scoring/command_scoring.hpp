// Scoring by the command of the run file: shards go in, and each comes out with its scores after
// its last verdict, in any order.
#pragma once

#include "reward/command/graders.hpp"
#include "run/scoring/pending_shard.hpp"
#include "run/workers/worker_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// Files of what the processes write to standard error: the first MiB of each process, in
/// RUN/verifier/rank-0000-process-00.log.
class ErrorFiles {
 public:
  ErrorFiles(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}
  void write(std::size_t process, std::string_view bytes);

 private:
  std::filesystem::path folder_;
  int rank_;
  std::map<std::size_t, std::uintmax_t> bytes_;  ///< written so far, by process
};

class CommandScoring {
 public:
  /// The command is not asked for verdicts that are known already. `pool`: progress is reported to
  /// it.
  CommandScoring(const VerdictSources& sources, const RewardSection& section,
                 const WorkerPool& pool, reward::Spawner& spawner, ErrorFiles errors);

  void add(const ShardNotice& notice, RolloutShard shard, double read_s);
  /// A shard that has all of its verdicts, if there is one. Throws what stopped the command.
  std::optional<GradedShard> take();
  bool is_judging() const { return !open_.empty(); }

 private:
  VerdictSources sources_;
  ErrorFiles errors_;
  std::map<std::uint64_t, PendingShard> open_;  ///< by the shard's batch number in graders_
  reward::Graders graders_;                     ///< the last member, so that its thread ends first
};

}  // namespace rollcall::run
