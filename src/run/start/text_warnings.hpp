// Warnings at a start about prompts and references that can be read, but may not match the user's
// intention.
#pragma once

#include "core/run_config.hpp"
#include "reward/verifier.hpp"
#include "run/context/run_texts.hpp"
#include "run/workers/worker_pool.hpp"

#include <string>
#include <vector>

namespace rollcall::run {

/// One sentence for each of these: references that are longer than sampling.max_new_tokens, if a
/// right response repeats them and there is no environment; and questions of files that contain the
/// text of a special token, which the policy reads as that token. Each names a row or prompt for
/// example. Needs the prompts and the tokenizer of `texts`.
std::vector<std::string> texts_told(const RunConfig& config, const RunTexts& texts,
                                    const reward::Grader& grader, WorkerPool& pool);

}  // namespace rollcall::run
