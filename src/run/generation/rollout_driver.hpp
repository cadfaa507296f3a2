// The driver of rollouts: it turns a plan into requests, decides what follows each turn, and makes
// rollouts of what was sampled. An answer of one turn, a rollout with a guide, an exit and a
// conversation are cases of it.
#pragma once

#include "core/plan.hpp"
#include "environment/partner.hpp"
#include "model/decode/decode.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/forks/fork_rule.hpp"
#include "run/generation/open_rollouts.hpp"
#include "run/generation/openings.hpp"
#include "run/generation/repeated_losses.hpp"
#include "run/messages/driver_figures.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace rollcall::run {

class RolloutDriver {
 public:
  /// `partner`: null in a run without an environment; otherwise RunTexts::turns is set. Throws as
  /// make_openings() and make_fork_rule() do.
  RolloutDriver(RunContext& context, std::unique_ptr<environment::Partner> partner);

  /// Samples the groups of a plan on the worker threads, with the run's policy or with `policy`.
  /// The result depends only on plan, seed, policy, openings and environment. A shard of a step
  /// that was cut (RunThreads::cut) holds no rollouts and must not be used. No conversation is open
  /// afterwards, also where it throws: ProtocolError where the plan is for another policy,
  /// NumericsError when the policy yields a log-prob that is not a number.
  RolloutShard run(const StepPlan& plan, int producer, const model::PolicyModel* policy = nullptr);
  DriverFigures take_figures() { return std::exchange(figures_, {}); }  ///< since the last call

 private:
  void finish(OpenGroup& group, OpenRollout& rollout, model::DecodedSequence&& sequence, Group& to);

  RunContext* context_;
  std::unique_ptr<environment::Partner> partner_;
  std::unique_ptr<Openings> openings_;
  std::unique_ptr<const ForkRule> forks_;
  std::vector<std::int32_t> exit_;  ///< tokens of openings.exit
  RepeatedLosses losses_;
  DriverFigures figures_;
};

/// The rollout of a sequence, whose columns it moves away. Its turns are: the prompt, what was
/// given, and by turns the policy's and the environment's. A sequence without a token gives none of
/// the policy. Given tokens that train are a turn of the policy, with log-probs that are not a
/// number and version 0 (turn_flag::given).
Rollout to_rollout(const text::PromptFormat& format, model::DecodedSequence&& sequence,
                   const std::vector<std::int32_t>& prompt, const OpenRollout& open);

}  // namespace rollcall::run
