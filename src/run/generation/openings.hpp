// How rollouts begin: where their prompt ends, or with their own beginning. Examples are a guide's
// prefix, a forced first token, words after the question and a given part of an answer.
#pragma once

#include "core/plan.hpp"
#include "run/context/prompt_book.hpp"
#include "run/context/run_context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::run {

/// The beginning of one rollout.
struct RolloutOpening {
  std::int64_t number = 0;  ///< Rollout::opening: place in openings.texts, from 1; 0: none of them
  std::vector<std::int32_t> given{};  ///< tokens before those that are sampled
  std::size_t learnt = 0;             ///< the last ones of `given` that train as well
  std::string words{};  ///< said to the policy behind the question, after a blank line; empty: none
};

class Openings {
 public:
  virtual ~Openings() = default;
  /// [groups][count] the openings of a plan's rollouts; a group's list is empty where all begin as
  /// its prompt ends. A function of seed, step, prompt, draw, sample and policy.
  virtual std::vector<std::vector<RolloutOpening>> of(const StepPlan& plan,
                                                      const PromptBook& book) = 0;
};

/// Those that [guide], [openings] and the derived prompts of a plan ask for. Reads guide.model
/// where guide.share is above 0. Throws ConfigError, InputError as Guide does, and ConfigError for a
/// text that leaves nothing to say. `context` outlives them.
std::unique_ptr<Openings> make_openings(const RunContext& context);

}  // namespace rollcall::run
