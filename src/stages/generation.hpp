// The generation stage: a plan in, a shard out.
#pragma once

#include "model/decode.hpp"
#include "stages/guide.hpp"
#include "stages/job.hpp"
#include "stages/messages.hpp"

namespace rollcall::stages {

/// A shard, which is not stored yet, and the rank that scores it.
struct Generated {
  RolloutShard shard;
  ShardNotice notice;
  int scorer = 0;
};

/// The job's threads, and what memory it leaves to keys and values.
model::DecodeOptions decode_options(const Job& job);
/// The same for what is given up with a step that is cut.
model::DecodeOptions step_decode_options(const Job& job);

class Generation {
 public:
  Generation(Job& job, int rank) : job_(&job), rank_(rank), guide_(job) {}
  /// Samples the plan's groups.
  Generated on_plan(const StepPlan& plan);

 private:
  Job* job_;
  int rank_;
  Guide guide_;
};

/// Prompts of different purposes and draws must not share random numbers: the address takes all three.
std::uint64_t prompt_address(const StepPlan& plan, const GroupPlan& group);

/// Ends a sequence with any of the format's end tokens, or once its text holds one of the stop texts. `format` and `stops` must outlive it.
model::StopRules stop_rules(const text::PromptFormat& format, const std::vector<std::string>& stops);

/// Samples the groups of a plan on the worker threads. The result depends on plan, seed, policy and guide alone, unless it is cut (Job::cut): it then holds no
/// answers, and nobody may use it.
/// Throws NumericsError when the policy yields a log-prob that is not a number.
RolloutShard generate(Job& job, const Guide& guide, const StepPlan& plan, int producer);

}  // namespace rollcall::stages
