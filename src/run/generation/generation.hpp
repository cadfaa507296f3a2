// The generation stage: a plan in, a shard out.
#pragma once

#include "model/decode/decode.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/guide.hpp"
#include "run/messages/messages.hpp"

namespace rollcall::run {

/// A shard, which is not stored yet, and the rank that scores it.
struct Generated {
  RolloutShard shard;
  ShardNotice notice;
  int scorer = 0;
};

/// The job's threads, and what memory it leaves to keys and values.
model::DecodeOptions decode_options(const RunContext& context);
/// The same for what is given up with a step that is cut.
model::DecodeOptions step_decode_options(const RunContext& context);

class GenerationStage {
 public:
  GenerationStage(RunContext& context, int rank)
      : context_(&context), rank_(rank), guide_(context) {}
  /// Samples the plan's groups.
  Generated on_plan(const StepPlan& plan);

 private:
  RunContext* context_;
  int rank_;
  Guide guide_;
};

/// Prompts of different purposes and draws must not share random numbers: the address takes all
/// three.
std::uint64_t prompt_address(const StepPlan& plan, const GroupPlan& group);

/// Ends a sequence with any of the format's end tokens, or once its text holds one of the stop
/// texts. `format` and `stops` must outlive it.
model::StopRules stop_rules(const text::PromptFormat& format,
                            const std::vector<std::string>& stops);

/// Samples the groups of a plan on the worker threads. The result depends on plan, seed, policy and
/// guide alone, unless it is cut (RunContext::cut): it then holds no answers, and nobody may use
/// it.
/// Throws NumericsError when the policy yields a log-prob that is not a number.
RolloutShard generate(RunContext& context, const Guide& guide, const StepPlan& plan, int producer);

}  // namespace rollcall::run
