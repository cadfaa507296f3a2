// The scoring stage: a published shard in, published scores and a report out. It keeps no state.
#pragma once

#include "stages/job.hpp"
#include "stages/mailbox.hpp"

namespace rollcall::stages {

class Scoring {
 public:
  Scoring(Job& job, Mailbox& mail) : job_(&job), mail_(&mail) {}
  void on_shard(const ShardNotice& notice);
  /// Of this process: it need not be read back.
  void on_own_shard(const ShardNotice& notice, const RolloutShard& shard) { score_shard(notice, shard, 0.0); }

 private:
  void score_shard(const ShardNotice& notice, const RolloutShard& shard, double read_s);

  Job* job_;
  Mailbox* mail_;
};

/// Scores every group of a shard with the job's verifier.
ScoredShard score(const Job& job, const RolloutShard& shard);
/// What the scheduler hears of it.
StepReport report(const RolloutShard& shard, const ScoredShard& scores);

}  // namespace rollcall::stages
