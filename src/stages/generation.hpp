// The generation stage: a plan in, a published shard out.
#pragma once

#include "stages/job.hpp"
#include "stages/mailbox.hpp"

namespace rollcall::stages {

class Generation {
 public:
  Generation(Job& job, Mailbox& mail) : job_(&job), mail_(&mail) {}
  /// Samples the plan's groups, publishes the shard and tells its scoring rank.
  void on_plan(const StepPlan& plan);

 private:
  Job* job_;
  Mailbox* mail_;
};

/// Ends a sequence once its text holds one of the stop texts; empty when there are none. `tokenizer` and `stops` must outlive it.
model::StopRule stop_rule(const text::Tokenizer& tokenizer, const std::vector<std::string>& stops);

/// Samples the groups of a plan on the worker threads. The result depends on plan, seed and policy alone.
/// Throws NumericsError when the policy yields a log-prob that is not a number.
RolloutShard generate(Job& job, const StepPlan& plan, int producer);

}  // namespace rollcall::stages
