// The prompts and examples of a run as tokens.
#pragma once

#include "core/run_config.hpp"
#include "run/context/run_texts.hpp"
#include "run/workers/worker_pool.hpp"
#include "task/examples.hpp"

#include <cstdint>
#include <string>

namespace rollcall::run {

/// Fills in the tokens of all prompts, and the examples that supervised steps draw from.
/// `positions`: how many tokens the policy can read (ModelConfig::max_position_embeddings). Throws
/// ConfigError or InputError where a text does not fit the model or the chat template.
void fill_texts(RunTexts& texts, const RunConfig& config, WorkerPool& pool, std::int64_t positions,
                const task::ExampleSet& examples);

/// The name of a prompt in messages: FILE:LINE where it was read from a file, else its beginning.
std::string prompt_name(const TaskSection& section, const Prompt& prompt);

/// Checks the lengths of the rows that can be read where others cannot, so that one start tells of
/// both. Throws ConfigError, naming rows that are too long, as fill_texts() does.
void check_good_rows(const RunTexts& texts, const RunConfig& config, WorkerPool& pool,
                     std::int64_t positions);

}  // namespace rollcall::run
