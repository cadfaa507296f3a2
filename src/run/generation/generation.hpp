// The generation stage: it receives a plan and returns a shard of rollouts.
#pragma once

#include "core/plan.hpp"
#include "core/rollout.hpp"
#include "environment/partner.hpp"
#include "model/decode/decode.hpp"
#include "run/generation/pool_policy.hpp"
#include "run/generation/rollout_driver.hpp"
#include "run/messages/messages.hpp"
#include "text/chat/prompt_format.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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
  /// `partner`: null in a run without an environment.
  GenerationStage(RunContext& context, int rank,
                  std::unique_ptr<environment::Partner> partner = nullptr)
      : context_(&context), rank_(rank), driver_(context, std::move(partner)) {}
  /// Samples the plan's groups.
  Generated on_plan(const StepPlan& plan);

 private:
  RunContext* context_;
  int rank_;
  RolloutDriver driver_;
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

}  // namespace rollcall::run
