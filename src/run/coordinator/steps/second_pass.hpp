// The second pass of a step: prompts made of the rollouts that a round brought, asked in the next
// round of the same step or in the next step, and which of their rollouts train where.
#pragma once

#include "core/derived_prompt.hpp"
#include "run/context/run_context.hpp"
#include "run/messages/messages.hpp"
#include "scheduling/scheduler.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rollcall::run {

/// What one round makes of the rounds before it.
struct DerivedRound {
  std::vector<GroupPlan> groups{};       ///< ascending by GroupId; empty: the pass is over
  std::vector<DerivedPrompt> prompts{};  ///< of those groups that have a text, ascending by number
};

/// A pure function of seed, settings, step and what it was given. It holds the numbers that the
/// step has used.
class SecondPass {
 public:
  SecondPass(const RunContext& context, std::uint64_t step) : context_(&context), step_(step) {}

  /// The next round. `specimens`: of the last round, merged, ascending by group; `reports`: of all
  /// rounds so far, settled. A group is asked for a kind once.
  DerivedRound next(const std::vector<Specimen>& specimens,
                    const std::vector<GroupReport>& reports);
  /// Prompts for the next step: judge tasks, and histories of the buffer.
  std::vector<DerivedPrompt> for_next_step(const std::vector<Specimen>& specimens) const;
  /// Adds to what the scheduler decided: which derived rollouts train, and which rollouts of their
  /// parents leave. `training`, `reports`: ascending by GroupId.
  void settle(scheduling::Training& training, const std::vector<GroupReport>& reports) const;
  /// The most rollouts that the passes of a step draw beside the scheduler's.
  static std::int64_t hard_cap(const RunConfig& config);
  static std::int64_t most_rounds(const RunConfig& config);

  /// second_pass/KIND_groups, _rollouts, _correct for each kind that the step asked.
  std::map<std::string, double> metrics(const std::vector<GroupReport>& reports) const;

 private:
  const RunContext* context_;
  std::uint64_t step_;
  std::map<DerivedKind, std::uint64_t> used_{};  ///< numbers so far
  std::vector<DerivedPrompt> asked_{};
};

}  // namespace rollcall::run
