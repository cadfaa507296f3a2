// Scoring by the command of the run file: shards go in, scored ones come out when their last verdict is there, in whatever order that is.
#pragma once

#include "base/clock.hpp"
#include "reward/command/graders.hpp"
#include "stages/job.hpp"
#include "stages/messages.hpp"
#include "stages/repeated_verdicts.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::stages {

/// A shard with its verdicts.
struct JudgedShard {
  ShardNotice notice;
  RolloutShard shard;
  ScoredShard scores;
  VerdictFacts facts;
  double read_s = 0.0, scoring_s = 0.0;
};

/// What the processes write to standard error, in RUN/verifier/rank-0000-process-00.log: the first MiB of each.
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
  CommandScoring(const Job& job, const RepeatedVerdicts& repeated, reward::Spawner& spawner, int rank);

  void add(const ShardNotice& notice, RolloutShard shard, double read_s);
  std::optional<JudgedShard> take();  ///< one that is whole; throws what stopped the command
  bool is_judging() const { return !open_.empty(); }

 private:
  /// A shard between its notice and its last verdict.
  struct Open {
    JudgedShard judged;
    std::vector<std::pair<std::size_t, std::size_t>> asked;  ///< group and rollout of each sample of the batch
    Stopwatch clock;
  };

  const Job* job_;
  const RepeatedVerdicts* repeated_;
  ErrorFiles errors_;
  std::map<std::uint64_t, Open> open_;  ///< by batch
  reward::Graders graders_;             ///< last: its thread ends first
};

}  // namespace rollcall::stages
