// The scoring stage: a published shard in, published scores and a report out. It keeps no state.
#pragma once

#include "stages/job.hpp"
#include "stages/mailbox.hpp"

namespace rollcall::stages {

class Scoring {
 public:
  Scoring(Job& job, Mailbox& mail) : job_(&job), mail_(&mail) {}
  void on_shard(const ShardNotice& notice);

 private:
  Job* job_;
  Mailbox* mail_;
};

/// Scores every group of a shard with the job's verifier.
ScoredShard score(const Job& job, const RolloutShard& shard);
/// What the scheduler hears of it.
StepReport report(const RolloutShard& shard, const ScoredShard& scores);

}  // namespace rollcall::stages
