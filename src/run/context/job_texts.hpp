// Prompts and examples of a job as tokens.
#pragma once

#include "run/context/run_context.hpp"
#include "task/examples.hpp"

namespace rollcall::run {

/// Tokens of all prompts, and of the examples that supervised steps draw from. Throws ConfigError,
/// InputError where one does not fit the model or the chat template.
void fill_texts(RunContext& context, const task::ExampleSet& examples);

}  // namespace rollcall::run
