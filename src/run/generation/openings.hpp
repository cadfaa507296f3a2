// How rollouts begin: as their prompt ends, or with a beginning of their own. A guide's prefix, a
// forced first token, an instruction for a part of the group and exits from one path are cases.
#pragma once

#include "core/plan.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

/// The beginning of one rollout.
struct Opening {
  std::int64_t number = 0;            ///< Rollout::opening; 0: nothing below is set
  std::string shown{};                ///< the prompt's text in this rollout; empty: the group's
  std::vector<std::int32_t> given{};  ///< tokens before those that are sampled, of the environment
                                      ///< or, if `trains`, of the policy
  bool trains = false;
};

/// An exit: the rollout repeats the first sample of its group up to a place, and goes on after a
/// text (S-GRPO, arXiv:2505.07686).
struct Exit {
  std::size_t sampled = 0;           ///< tokens of the first sample
  std::vector<std::int32_t> said{};  ///< [openings] exit, as tokens
  std::int64_t number = 0;
};

class Openings {
 public:
  virtual ~Openings() = default;
  /// [groups][count] the openings of a plan's rollouts; a group's list is empty where all begin as
  /// its prompt ends. A function of seed, step, prompt, draw, sample and policy.
  virtual std::vector<std::vector<Opening>> of(const StepPlan& plan, const PromptBook& book) = 0;
  /// The exits of a group whose first sample had `sampled` tokens, for its other `count` samples.
  virtual std::vector<Exit> exits(const GroupPlan&, std::size_t, std::uint32_t) const { return {}; }
};

/// Those that [guide], [openings] and the derived prompts of a plan ask for. Reads guide.model
/// where guide.share is above 0. Throws ConfigError, InputError as Guide did.
std::unique_ptr<Openings> make_openings(const RunContext& context);

}  // namespace rollcall::run
