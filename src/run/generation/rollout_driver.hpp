// The driver of rollouts: it turns a plan into requests, decides what follows each turn, and makes
// rollouts of what was sampled. An answer of one turn, a rollout with a guide, an exit and a
// conversation are cases of it.
#pragma once

#include "core/plan.hpp"
#include "environment/partner.hpp"
#include "model/decode/decode.hpp"
#include "run/context/run_context.hpp"
#include "run/generation/conversation.hpp"
#include "run/generation/openings.hpp"
#include "run/generation/repeated_losses.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rollcall::run {

/// Where a group forks: a rule of src/run/generation/forks (a row each), given a finished turn.
class ForkRule {
 public:
  virtual ~ForkRule() = default;
  /// The places in the turn [begin, end) of `so_far` at which further rollouts begin, ascending, at
  /// most `left` of them. Depends on its arguments and on `address` alone.
  virtual std::vector<std::size_t> places(const model::DecodedSequence& so_far, std::size_t begin,
                                          std::size_t end, std::uint32_t left,
                                          std::uint64_t address) const = 0;
};

/// Figures of what a driver did, summed over the plans of a step.
struct DriverFigures {
  std::int64_t turns = 0, told_tokens = 0, sampled_tokens = 0;
  std::int64_t lost = 0, cut_by_turns = 0, restarted = 0;
  double waited_s = 0.0;    ///< in which no sequence advanced although some were not over
  double answered_s = 0.0;  ///< sum of the seconds between questions and answers
};

class RolloutDriver {
 public:
  /// `partner`: null in a run without an environment.
  RolloutDriver(RunContext& context, std::unique_ptr<environment::Partner> partner);
  ~RolloutDriver();

  /// Samples the groups of a plan on the worker threads. The result depends on plan, seed, policy,
  /// openings and environment alone. Throws ProtocolError where the plan is for another policy, and
  /// NumericsError when the policy yields a log-prob that is not a number.
  RolloutShard run(const StepPlan& plan, int producer);
  DriverFigures take_figures();  ///< since the last call

 private:
  struct Round;  ///< the conversations of one call of run()
  RunContext* context_;
  std::unique_ptr<environment::Partner> partner_;
  std::unique_ptr<Openings> openings_;
  std::unique_ptr<const ForkRule> forks_;
  std::unique_ptr<const text::TurnTexts> texts_;
  RepeatedLosses losses_;
  DriverFigures figures_;
};

/// The rollout of a sequence. `turns`: empty for a rollout of one turn. Its turns are: the prompt,
/// what was given, and by turns the policy's and the environment's. Moves the columns out of
/// `sequence`.
Rollout to_rollout(const RunContext& context, model::DecodedSequence&& sequence,
                   const std::vector<std::int32_t>& prompt, const Opening& opening,
                   const std::vector<PlayedTurn>& turns, FinishReason finish);

}  // namespace rollcall::run
