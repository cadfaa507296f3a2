// A second model that begins a group's answers: the policy goes on from its tokens, and only what
// the policy says itself is trained on.
// Source: Learning to Generate Better Than Your LLM, arXiv:2306.11816 (PPO++: roll in with the
//   guide, roll out with the learner).
#pragma once

#include "model/engine/policy.hpp"
#include "run/context/run_context.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::run {

/// Settings that do not fit each other.
void check_guide(const RunConfig& config, Faults& faults);

class Guide {
 public:
  /// Reads guide.model where guide.share is above 0. Throws ConfigError for a model that does not
  /// fit the policy, InputError for a folder without a model.
  explicit Guide(const RunContext& context);

  /// [groups of the plan] the guide's tokens that the group's rollouts all begin with; empty where
  /// it has none. A group's prefix depends on seed, step, prompt and draw alone, so rounds and
  /// ranks share it. Only groups to be trained on have one.
  std::vector<std::vector<std::int32_t>> prefixes(const RunContext& context,
                                                  const StepPlan& plan) const;

 private:
  struct Beginning {
    std::size_t group, length;  ///< row in the plan; most tokens
  };
  std::optional<model::PolicyModel> policy_;
};

}  // namespace rollcall::run
