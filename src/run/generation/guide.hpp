// A second model that begins the answers of some groups: the policy continues from its tokens, and
// only the policy's own tokens are trained on.
// Source: Learning to Generate Better Than Your LLM, arXiv:2306.11816 (PPO++: roll in with the
//   guide, roll out with the learner).
#pragma once

#include "base/errors/faults.hpp"
#include "core/plan.hpp"
#include "core/run_config.hpp"
#include "model/engine/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rollcall::run {

struct RunContext;

/// Reports settings of [guide] that do not fit the others.
void check_guide(const RunConfig& config, Faults& faults);

class Guide {
 public:
  /// Reads guide.model where guide.share is above 0. Throws ConfigError for a model that does not
  /// fit the policy, InputError for a folder without a model.
  explicit Guide(const RunContext& context);

  /// [groups of the plan] the tokens of the guide that all rollouts of the group begin with; empty
  /// for a group without a prefix. Only groups that will be trained on have one. It depends only on
  /// seed, step, prompt and draw, so that rounds and ranks share it.
  std::vector<std::vector<std::int32_t>> prefixes(const RunContext& context,
                                                  const StepPlan& plan) const;

 private:
  struct Beginning {
    std::size_t group, length;  ///< index of the group in the plan; most tokens of its beginning
  };
  std::optional<model::PolicyModel> policy_;
};

}  // namespace rollcall::run
