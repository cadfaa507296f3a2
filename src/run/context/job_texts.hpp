// The prompts and examples of a run as tokens.
#pragma once

#include "core/run_config.hpp"
#include "run/context/run_texts.hpp"
#include "run/workers/worker_pool.hpp"
#include "task/examples.hpp"

#include <cstdint>

namespace rollcall::run {

/// Fills in the tokens of all prompts, and the examples that supervised steps draw from.
/// `positions`: how many tokens the policy can read (ModelConfig::max_position_embeddings). Throws
/// ConfigError or InputError where a text does not fit the model or the chat template.
void fill_texts(RunTexts& texts, const RunConfig& config, WorkerPool& pool, std::int64_t positions,
                const task::ExampleSet& examples);

}  // namespace rollcall::run
