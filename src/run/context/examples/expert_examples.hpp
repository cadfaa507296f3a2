// Conversations of an environment's expert, as examples of the warm start.
#pragma once

#include "core/run_config.hpp"
#include "environment/expert_way.hpp"
#include "run/context/run_texts.hpp"

#include <cstdint>
#include <memory>

namespace rollcall::run {

/// A conversation as a policy that says the same would have sampled it: `prompt`, then each action,
/// which is learnt with what ends it, and what is told after it, which is not. Behind the first
/// action, turns for which `positions` leave no room are left out. `way` has an action.
text::Supervised expert_example(const RunTexts& texts, const Prompt& prompt,
                                const environment::ExpertWay& way, std::int64_t positions);

/// The experts' conversations of a run's training prompts, where the warm start learns them.
class ExpertExamples {
 public:
  /// `config` and `texts` must outlive it.
  ExpertExamples(const RunConfig& config, const RunTexts& texts, std::int64_t positions);
  /// Whether the environment of the run has an expert. Otherwise worked solutions are learnt.
  explicit operator bool() const { return environment_ != nullptr; }
  /// The conversation about a training prompt, of sft.turns actions at most. Its world is drawn at
  /// the prompt's address, and no rollout meets the same draw. Throws InputError where the
  /// environment cannot use the prompt. Any thread may call it.
  text::Supervised of(const Prompt& prompt) const;

 private:
  const RunConfig* config_;
  const RunTexts* texts_;
  std::int64_t positions_;
  std::unique_ptr<const environment::Environment> environment_;  ///< null: it has no expert
};

}  // namespace rollcall::run
