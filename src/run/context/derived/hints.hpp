// Help for prompts of the task that a scheduler asks again ([hints]): a beginning of the worked
// solution, or texts from the prompt's row. It is a function of prompt and tier, so that no message
// has to carry it.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "run/context/run_texts.hpp"
#include "run/workers/worker_pool.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rollcall::run {

/// The help of a tier for a prompt of the task in a form (RunTexts::forms). Tier j of a solution is
/// the share hints.shares[j - 1] of its lines, or of its tokens where it has fewer lines than there
/// are shares. It is at least one line or token and never all of them; a solution of a single token
/// gives none. Tier j of a row is the first j texts of its list, a line each. Empty: there is none.
/// `tier`: from 1. Throws InputError for a row whose list holds something else than texts.
std::string help_of(const RunTexts& texts, const Prompt& prompt, std::size_t form,
                    std::int32_t tier);

/// asked() (question_forms.hpp) with the help of a tier in the question, as hints.text puts it;
/// just asked() where hints.as is beginning, or where there is no help. `tier` 0: without help.
Prompt with_hint(const RunTexts& texts, const Prompt& prompt, std::size_t form, std::int32_t tier);

/// Tokens with which an answer to the prompt begins where hints.as is beginning; empty: none.
std::vector<std::int32_t> hint_tokens(const RunTexts& texts, const Prompt& prompt, std::size_t form,
                                      std::int32_t tier);

/// Fills RunTexts::tiers and longest_with_help for a scheduler that asks with up to `tiers` tiers.
/// A tier for which the model has no room beside sampling.max_new_tokens is left out with those
/// above it. Throws ConfigError if the section [hints] has a different number of tiers, or if no
/// training prompt has help. Throws InputError like help_of().
void fill_help(RunTexts& texts, const RunConfig& config, WorkerPool& pool, std::int64_t positions,
               std::int64_t tiers);

}  // namespace rollcall::run
