// Scoring by the command of the run file: shards go in, scored ones come out when their last
// verdict is there, in whatever order that is.
#pragma once

#include "reward/command/graders.hpp"
#include "run/scoring/pending_shard.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// What the processes write to standard error, in RUN/verifier/rank-0000-process-00.log: the first
/// MiB of each.
class ErrorFiles {
 public:
  ErrorFiles(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}
  void write(std::size_t process, std::string_view bytes);

 private:
  std::filesystem::path folder_;
  int rank_;
  std::map<std::size_t, std::uintmax_t> bytes_;  ///< of each file so far
};

class CommandScoring {
 public:
  /// What is `repeated` is not asked for again.
  CommandScoring(const RunContext& context, const RepeatedVerdicts& repeated,
                 reward::Spawner& spawner, int rank);

  void add(const ShardNotice& notice, RolloutShard shard, double read_s);
  std::optional<GradedShard> take();  ///< one that is whole; throws what stopped the command
  bool is_judging() const { return !open_.empty(); }

 private:
  const RunContext* context_;
  const RepeatedVerdicts* repeated_;
  ErrorFiles errors_;
  std::map<std::uint64_t, PendingShard> open_;  ///< by batch
  reward::Graders graders_;                     ///< last: its thread ends first
};

}  // namespace rollcall::run
