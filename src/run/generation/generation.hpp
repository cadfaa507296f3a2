// The generation stage: it receives a plan and returns a shard of rollouts.
#pragma once

#include "core/plan.hpp"
#include "core/rollout.hpp"
#include "model/decode/decode.hpp"
#include "run/generation/openings.hpp"
#include "run/generation/pool_policy.hpp"
#include "run/messages/messages.hpp"
#include "text/chat/prompt_format.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// A shard that is not stored yet, and the rank that scores it.
struct Generated {
  RolloutShard shard;
  ShardNotice notice;
  int scorer = 0;
};

/// The threads of the run, and the memory that keys and values may take.
model::DecodeOptions decode_options(const RunContext& context);
/// decode_options() for decoding that ends early when the step is cut.
model::DecodeOptions step_decode_options(const RunContext& context);

class GenerationStage {
 public:
  GenerationStage(RunContext& context, int rank)
      : context_(&context), rank_(rank), openings_(make_openings(context)) {}
  /// Samples the plan's groups.
  Generated on_plan(const StepPlan& plan);

 private:
  RunContext* context_;
  int rank_;
  std::unique_ptr<Openings> openings_;
  PoolPolicy pools_;
};

/// The address of a group's random numbers, made of prompt, purpose and draw: groups that differ in
/// one of them must not share random numbers. GroupPlan::stream_draw replaces the draw of a group
/// that repeats the rollouts of another.
std::uint64_t prompt_address(const StepPlan& plan, const GroupPlan& group);

/// Rules that end a sequence with any end token of the format, or when its text holds one of the
/// stop texts. `format` and `stops` must outlive the rules.
model::StopRules stop_rules(const text::PromptFormat& format,
                            const std::vector<std::string>& stops);

/// Samples the groups of a plan on the worker threads, with the run's policy or with `policy`. The
/// result depends on plan, seed, policy and openings alone. A shard of a step that was cut
/// (RunThreads::cut) holds no answers and must not be used. Throws NumericsError when the policy yields a log-prob that is not a number.
RolloutShard generate(RunContext& context, Openings& openings, const StepPlan& plan, int producer,
                      const model::PolicyModel* policy = nullptr);

}  // namespace rollcall::run
