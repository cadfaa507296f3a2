// The rounds of a train step: the scheduler chooses prompts and budgets round by round, until it
// closes the step and decides how the groups train.
#pragma once

#include "core/plan.hpp"
#include "method/method.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "run/coordinator/steps/rounds.hpp"
#include "run/coordinator/steps/start_states.hpp"
#include "run/step/heard_rewards.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace rollcall::run {

class PoolRounds;
struct RunContext;

class StepRounds {
 public:
  StepRounds(const RunContext& context, CoordinatorState& state, scheduling::Scheduler& scheduler,
             Rounds& rounds);

  /// All rounds of the step. Throws StepIsCut when a signal has cut one of them.
  Round run(const scheduling::StepRequest& request);
  /// Whether the objective compares with the reward of a greedy answer to each prompt.
  bool asks_greedy() const { return asks_greedy_; }

 private:
  StepPlan greedy_plan(const StepPlan& round, std::set<PromptId>& answered) const;
  void ask_next(StepPlan& plan) const;
  StepPlan plan_of(std::uint64_t step, std::uint32_t round, std::vector<GroupPlan> groups) const;
  Round play(Round& all, StepPlan plan, std::set<PromptId>& answered);
  void choose_samples(Round& all, const StepPlan& plan, const PoolRounds& pools,
                      std::vector<GroupPlan>& groups);
  void ask_again(Round& all, std::uint64_t step, std::uint32_t number);

  const RunContext* context_;
  CoordinatorState* state_;
  scheduling::Scheduler* scheduler_;
  Rounds* rounds_;
  std::unique_ptr<const method::Objective> objective_;
  bool asks_greedy_;
  StartStates starts_;
  HeardRewards heard_;
};

}  // namespace rollcall::run
